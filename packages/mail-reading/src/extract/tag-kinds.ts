export const BLOCKS: ReadonlySet<string> = new Set(
  'address article aside blockquote body br center dd div dl dt fieldset figure footer form h1 h2 h3 h4 h5 h6 header hr html li main nav ol p pre section table tbody tfoot thead tr ul'.split(
    ' ',
  ),
)
export const UNSEEN: ReadonlySet<string> = new Set(
  'script style title noscript template object svg head select textarea'.split(' '),
)
export const VOID: ReadonlySet<string> = new Set(
  'area base br col embed hr img input link meta source track wbr'.split(' '),
)
/** What is open already ends where one of these begins. */
export const ENDED_BY: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  Object.entries({
    tr: 'tr th td',
    td: 'td th',
    th: 'td th',
    tbody: 'tr td th thead tbody tfoot',
    li: 'li',
    dt: 'dt dd p',
    dd: 'dt dd p',
    option: 'option',
    body: 'head link script',
    ...Object.fromEntries(
      'p h1 h2 h3 h4 h5 h6 div table ul ol dl hr blockquote center form pre section'
        .split(' ')
        .map((name) => [name, 'p']),
    ),
  }).map(([name, ended]) => [name, new Set(ended.split(' '))]),
)
/** An end tag within a cell closes nothing around it. */
export const SCOPES: ReadonlySet<string> = new Set('td th table'.split(' '))
export const SCOPED_ENDS: ReadonlySet<string> = new Set(
  'table tr td th tbody thead tfoot'.split(' '),
)
