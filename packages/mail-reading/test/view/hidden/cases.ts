// Crafted bodies of mail. MARKER must not be shown in the first list and must be shown in the second; SEEN stands in
// all of them and is always shown.

export type HiddenCase = { readonly name: string; readonly html?: string; readonly text?: string }

const html = (name: string, body: string, head = ''): HiddenCase => ({
  name,
  html: `<html><head>${head}</head><body><p>SEEN</p>${body}</body></html>`,
})
const styled = (name: string, style: string): HiddenCase =>
  html(name, `<div style="${style}">MARKER</div>`)
const ruled = (name: string, css: string, body: string): HiddenCase =>
  html(name, body, `<style>${css}</style>`)
const text = (name: string, body: string): HiddenCase => ({ name, text: `SEEN\n${body}` })
const tags = (word: string) =>
  Array.from(word, (char) => String.fromCodePoint(0xe0000 + (char.codePointAt(0) ?? 0))).join('')

/** Bodies in which MARKER is invisible. */
export const UNSEEN: readonly HiddenCase[] = [
  styled('display none', 'display:none'),
  styled('display none in capitals, important', 'DISPLAY : None !important'),
  styled('display none behind a comment', 'color:red;display:/**/none'),
  styled('display none with escapes of CSS', 'd\\69splay:\\6eone'),
  html(
    'display none around children that are shown',
    '<div style="display:none"><b style="display:block">MARKER</b></div>',
  ),
  styled('visibility hidden', 'visibility:hidden'),
  styled('opacity 0', 'opacity:0'),
  styled('opacity nearly 0', 'opacity:0.01'),
  styled('opacity in percent', 'opacity:0%'),
  styled('filter opacity', 'filter:opacity(0)'),
  styled('font of 0', 'font-size:0'),
  styled('font of one pixel', 'font-size:1px'),
  styled('font of half a point', 'font-size:0.5pt'),
  styled('font of 0 in a shorthand', 'font:0/0 a'),
  html('font of 0 that is inherited', '<div style="font-size:0"><p>MARKER</p></div>'),
  html(
    'font of 1 % of its parent',
    '<p style="font-size:20px"><span style="font-size:1%">MARKER</span></p>',
  ),
  styled('no height, overflow hidden', 'height:0;overflow:hidden'),
  styled('no greatest height, overflow hidden', 'max-height:0px;overflow:hidden'),
  styled('no width and no height', 'width:0;height:0'),
  styled('a box of one pixel', 'position:absolute;width:1px;height:1px;overflow:hidden'),
  styled('scaled to nothing', 'transform:scale(0)'),
  styled('far to the left', 'position:absolute;left:-9999px'),
  styled('far above', 'position:fixed;top:-200em'),
  styled('far by a margin', 'margin-left:-10000px'),
  styled('far by a transformation', 'transform:translateX(-9999px)'),
  styled('text indented away', 'text-indent:-9999px'),
  styled('clipped', 'position:absolute;clip:rect(0 0 0 0)'),
  styled('clipped by a path', 'clip-path:inset(100%)'),
  styled('mso-hide', 'mso-hide:all'),
  styled('white on white', 'color:#fff'),
  styled('nearly white on white', 'color:#fefefe'),
  styled('white by its name on a white of numbers', 'color:white;background:rgb(255,255,255)'),
  styled('transparent', 'color:transparent'),
  styled('no alpha', 'color:rgba(0,0,0,0)'),
  styled('filled with nothing', '-webkit-text-fill-color:transparent'),
  html('white of a font element', '<font color="white">MARKER</font>'),
  html(
    'black on the black of a cell',
    '<table><tr><td bgcolor="#000000"><font color="black">MARKER</font></td></tr></table>',
  ),
  html(
    'the colour of an ancestor',
    '<div style="background-color:#123456"><div><span style="color:#123457">MARKER</span></div></div>',
  ),
  html('the attribute hidden', '<div hidden>MARKER</div>'),
  html('a comment', '<!-- MARKER -->'),
  html('a conditional comment', '<!--[if mso]><p>MARKER</p><![endif]-->'),
  html('noscript', '<noscript>MARKER</noscript>'),
  html('template', '<template>MARKER</template>'),
  html('the title', '', '<title>MARKER</title>'),
  html('a script', '<script>var a = "MARKER"</script>'),
  html(
    'the description of a hidden picture',
    '<img style="display:none" alt="MARKER" src="https://a.example/b.png">',
  ),
  ruled('a rule by class', '.x{display:none}', '<p class="y x">MARKER</p>'),
  ruled('a rule by id', '#x{visibility:hidden}', '<p id="x">MARKER</p>'),
  ruled('a rule by element', 'section{font-size:0}', '<section>MARKER</section>'),
  ruled(
    'a rule by ancestors',
    '.a .b > .c{opacity:0}',
    '<div class="a"><i><div class="b"><p class="c">MARKER</p></div></i></div>',
  ),
  ruled('a rule by order of siblings', 'p:nth-child(3){display:none}', '<p>a</p><p>MARKER</p>'),
  ruled(
    'a rule by order of siblings after a comment',
    'b:nth-child(2){display:none}',
    '<div><!-- x --><i>a</i><b>MARKER</b></div>',
  ),
  ruled(
    'a rule by order of siblings after a hidden one',
    'b:nth-child(3){display:none}',
    '<div><i hidden>a</i><i>a</i><b>MARKER</b></div>',
  ),
  ruled(
    'a rule by what an earlier sibling hides',
    'p:has(.no) + p{display:none}',
    '<p><b class="no" hidden>a</b></p><p>MARKER</p>',
  ),
  ruled('a rule by the sibling before', 'p + div{display:none}', '<div>MARKER</div>'),
  ruled('a rule by an attribute', '[lang="xx"]{display:none}', '<p lang="xx">MARKER</p>'),
  ruled('a rule for screens', '@media screen{.x{display:none}}', '<p class="x">MARKER</p>'),
  ruled(
    'a rule for wide screens',
    '@media only screen and (min-width:601px){.x{display:none}}',
    '<p class="x">MARKER</p>',
  ),
  ruled(
    'an important rule over the attribute',
    '.x{display:none !important}',
    '<p class="x" style="display:block">MARKER</p>',
  ),
  ruled(
    'shown on phones alone',
    '.x{display:none} @media (max-width:600px){.x{display:block !important}}',
    '<p class="x">MARKER</p>',
  ),
  ruled(
    'a background by a rule',
    'td.dark{background:#222} .t{color:#222}',
    '<table><tr><td class="dark"><span class="t">MARKER</span></td></tr></table>',
  ),
  html('tags of Unicode', `<p>a${tags('MARKER')}b</p>`),
  text('tags of Unicode in text', `a${tags('MARKER')}b`),
]

/** Bodies in which MARKER is visible. */
export const SHOWN: readonly HiddenCase[] = [
  html(
    'white on a dark button',
    '<table><tr><td bgcolor="#1a73e8"><a href="https://a.example/" style="color:#ffffff">MARKER</a></td></tr></table>',
  ),
  html(
    'white on a dark link',
    '<a href="https://a.example/" style="background:#333;color:#fff">MARKER</a>',
  ),
  html(
    'white on a picture',
    '<td background="https://a.example/b.png"><div style="background-image:url(https://a.example/b.png);color:#fff">MARKER</div></td>',
  ),
  html(
    'white on a gradient',
    '<div style="background:linear-gradient(#000,#333);color:white">MARKER</div>',
  ),
  ruled(
    'hidden on phones',
    '@media (max-width:600px){.x{display:none}}',
    '<p class="x">MARKER</p>',
  ),
  ruled('hidden in print', '@media print{.x{display:none}}', '<p class="x">MARKER</p>'),
  ruled(
    'white in the dark alone',
    '@media (prefers-color-scheme:dark){.x{color:#fff}}',
    '<p class="x">MARKER</p>',
  ),
  ruled(
    'shown by a stronger rule',
    '.x{display:none} p.x{display:block}',
    '<p class="x">MARKER</p>',
  ),
  ruled(
    'shown by its attribute',
    '.x{display:none}',
    '<p class="x" style="display:block">MARKER</p>',
  ),
  ruled('hidden while pointed at', '.x:hover{display:none}', '<p class="x">MARKER</p>'),
  ruled(
    'dark by a rule',
    '.dark{background-color:#000}',
    '<div class="dark"><p style="color:#fff">MARKER</p></div>',
  ),
  html(
    'sized in a parent of font 0',
    '<div style="font-size:0"><span style="font-size:14px">MARKER</span></div>',
  ),
  html(
    'visible in a hidden parent',
    '<div style="visibility:hidden"><p style="visibility:visible">MARKER</p></div>',
  ),
  html(
    'a picture half see-through',
    '<img style="opacity:0.6" alt="MARKER" src="https://a.example/b.png">',
  ),
  styled('half see-through', 'opacity:0.5'),
  styled('light grey fine print', 'color:#bbb;font-size:9px'),
  styled('no greatest height but what stands out', 'max-height:none;height:auto'),
  styled('a hanging indent', 'text-indent:-20px'),
  styled('a small negative margin', 'margin-left:-12px;margin:0 0 0 -40pt'),
  html('hidden from screen readers', '<span aria-hidden="true">MARKER</span>'),
  html(
    'behind a conditional comment that others see',
    '<!--[if !mso]><!--><p>MARKER</p><!--<![endif]-->',
  ),
  html(
    'a link within white text',
    '<div style="background:#fff;color:#fff"><a href="https://a.example/">MARKER</a></div>',
  ),
  html('a value in which none is a name', '<p style="font-family:none;background:none">MARKER</p>'),
  html('the text of a button', '<button style="background:#000;color:#fff">MARKER</button>'),
  html('soft hyphens within a word', '<p>MAR&shy;KER</p>'),
  html('zero-width spaces within a word', '<p>MAR&#8203;K&#8288;ER</p>'),
  text('zero-width spaces within a word of text', 'M\u200bA\u200cR\u2060K\ufeffER'),
  text('controls of direction around a word', '\u202eMARKER\u202c'),
  text('selectors behind every letter', 'M\ufe00A\ufe01R\ufe0fK\u{e0100}ER'),
]
