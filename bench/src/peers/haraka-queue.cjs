// The queue of Haraka in the benchmark: one file a message, synced before the answer. Runs inside Haraka,
// which gives it `OK` and `DENYSOFT`.

const { open } = require('node:fs/promises')
const { join } = require('node:path')

let serial = 0

exports.hook_queue = (next, connection) => {
  connection.transaction.message_stream.get_data((content) => {
    keep(content).then(
      () => next(OK),
      (error) => next(DENYSOFT, error.message),
    )
  })
}

async function keep(content) {
  serial += 1
  const file = await open(join(process.env.BENCH_HARAKA_MAIL, `${process.pid}.${serial}`), 'w')
  await file.writeFile(content)
  await file.sync()
  await file.close()
}
