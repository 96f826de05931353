// Commands for exports, imports and erasures.

import { EXPORT_FORMATS } from '@mailroom/contract/transfers.ts'
import { type Command, Option } from 'commander'
import { addInboxOption, addSessionOptions, describeBy } from './add-operation-command.ts'

export function addMoveCommands(program: Command): void {
  const exporting = program
    .command('export')
    .summary('Export an inbox or a pod into a file.')
    .description('Export an inbox or a pod into a file. Waits until it is written.')
  addInboxOption(exporting, 'The inbox to export.')
  exporting
    .option('--pod <pod>', 'Export every inbox of this pod instead.')
    .addOption(
      new Option('--format <format>', 'The format of the file.')
        .choices([...EXPORT_FORMATS])
        .default('mbox'),
    )
    .option('-o, --output <path>', 'Path of the file; by default it is named after the inbox.')
    .option('--force', 'Replace an existing file.')
  addSessionOptions(exporting).action(async () => {
    const { exportMail } = await import('#actions/move-mail.ts')
    await exportMail(exporting.opts())
  })

  const importing = describeBy(program.command('import'), 'imports.create').argument(
    '<file>',
    'An mbox, a tar archive of a Maildir, the jsonl of an export, or one message.',
  )
  addInboxOption(importing, 'The inbox that receives the messages.')
  importing
    .option('--type <type>', 'The media type; by default the service detects it.')
    .option('--read', 'Treat messages without a read flag in the file as read.')
  addSessionOptions(importing).action(async (file: string) => {
    const { importMail } = await import('#actions/move-mail.ts')
    await importMail(file, importing.opts())
  })

  const erasing = describeBy(program.command('erase'), 'erasures.create')
    .argument('<address>', 'The address whose mail is erased.')
    .option('-y, --yes', 'Do not ask for confirmation. Required without a terminal.')
  addSessionOptions(erasing).action(async (address: string) => {
    const { eraseAddress } = await import('#actions/move-mail.ts')
    await eraseAddress(address, erasing.opts())
  })
}
