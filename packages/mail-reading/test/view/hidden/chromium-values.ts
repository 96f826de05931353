// How Chromium 156 reads values of CSS in a document with a doctype, recorded from its own parser.

export type Recorded = {
  /** Chromium accepts the declaration, and so do we. */
  readonly taken: readonly string[]
  /** It drops the declaration. */
  readonly dropped: readonly string[]
  /** Chromium accepts the declaration; we do not read it, so an earlier one counts. */
  readonly unread: readonly string[]
}

/** Values between `¦`. */
export const list = (lines: string) =>
  lines
    .split('¦')
    .map((line) => line.trim())
    .filter((line) => line !== '')

export const CHROMIUM_VALUES: Readonly<Record<string, Recorded>> = {
  'font-size': {
    taken: list(`
      0 ¦ 00 ¦ -0 ¦ +0 ¦ 0px ¦ 1px ¦ 1PX ¦ .5px ¦ +3px ¦ 1e3px ¦ 1.5em ¦ 2rem ¦ 3ex ¦ 4ch ¦ 5vw ¦ 6vh ¦ 7vmin ¦
      8vmax ¦ 9pt ¦ 1pc ¦ 2in ¦ 3cm ¦ 4mm ¦ 5q ¦ 6Q ¦ 1dvh ¦ 1svw ¦ 1lvh ¦ 1vi ¦ 1vb ¦ 1cqw ¦ 1cqmin ¦ 1lh ¦ 1rlh ¦
      1ic ¦ 1cap ¦ 1rex ¦ 1rch ¦ 10% ¦ 0% ¦ 1000% ¦ 3px ¦ calc(1px) ¦ calc(1px + 2%) ¦ calc( 1px * 2 ) ¦
      calc(1px / 0) ¦ min(1px, 2px) ¦ max(1px) ¦ clamp(1px, 2px, 3px) ¦ calc(1px - -1px) ¦ calc(1px + (2px * 3)) ¦
      CALC(1PX) ¦ inherit ¦ initial ¦ unset ¦ revert ¦ revert-layer ¦ INHERIT ¦ Initial ¦ math ¦ small ¦ medium ¦
      large ¦ x-small ¦ xx-small ¦ xx-large ¦ xxx-large ¦ smaller ¦ larger ¦ -webkit-xxx-large ¦ 000
    `),
    dropped: list(`
      5.px ¦ 5. ¦ 1x ¦ 1bogus ¦ 1_px ¦ 1px1 ¦ #1 ¦ 0x10 ¦ 1,5px ¦ 1 px ¦ 1px/2px ¦ calc(1 + 1) ¦ calc() ¦
      sign(1px) ¦ -moz-calc(1px) ¦ url(x) ¦ '1px' ¦ 1px important ¦ calc-size(auto, size) ¦ anchor-size(width) ¦
      fit-content(1px) ¦ sqrt(4) ¦ pow(2,2) ¦ 1px, ¦ (1px) ¦ {1px} ¦ 1px{} ¦ -moz-fit-content ¦ min-intrinsic ¦
      progress(1px,0px,2px) ¦ sibling-index() ¦ toggle(1px) ¦ first-valid(1px) ¦ -internal-x() ¦ 1px$ ¦ collapse ¦
      inherit,inherit ¦ x ¦ inline ¦ inline-block ¦ -webkit-inline-box ¦ -ms-flexbox ¦ -ms-grid ¦
      -moz-inline-block ¦ -moz-stack ¦ -moz-inline-box ¦ -moz-deck ¦ -moz-grid ¦ grid ¦ -ms-inline-grid ¦ masonry ¦
      table-row ¦ table-row-group ¦ table-footer-group ¦ ruby ¦ inline-list-item ¦ sticky ¦ -webkit-sticky ¦
      -moz-sticky ¦ -ms-page ¦ left ¦ right ¦ top ¦ bottom ¦ red ¦ CurrentColor ¦ canvas ¦ buttonface ¦ activetext ¦
      visitedtext ¦ accentcolortext ¦ field ¦ highlighttext ¦ -internal-light-dark ¦ #ffff ¦ #fffff ¦ #ffffffff ¦
      #fffffff ¦ # ¦ each-line ¦ italic ¦ view-box ¦ border-box ¦ padding-box ¦ text ¦ block flow ¦ flow block ¦
      inline flow-root ¦ block flow-root ¦ inline list-item ¦ block list-item flow ¦ list-item flex ¦ block ruby ¦
      inline flex ¦ flex inline ¦ inline grid ¦ block table ¦ inline table ¦ block inline ¦ none none ¦ block none ¦
      run-in flow ¦ hidden auto ¦ overlay auto ¦ static x ¦ fixed absolute ¦ 10px each-line ¦
      2px hanging each-line
    `),
    unread: list(`
      round(up, 1px, 2px) ¦ mod(3px,2px) ¦ abs(-1px) ¦ -webkit-calc(1px) ¦ attr(x) ¦ attr(x px) ¦
      calc(infinity*1px) ¦ calc(NaN*1px) ¦ hypot(3px) ¦ random(1px,2px) ¦ calc(1px * sibling-index()) ¦
      revert-rule
    `),
  },
  display: {
    taken: list(`
      none ¦ inherit ¦ initial ¦ unset ¦ revert ¦ revert-layer ¦ INHERIT ¦ Initial ¦ block ¦ inline ¦ inline-block ¦
      -webkit-box ¦ -webkit-inline-box ¦ flex ¦ inline-flex ¦ -webkit-flex ¦ -webkit-inline-flex ¦ grid ¦
      inline-grid ¦ math ¦ contents ¦ list-item ¦ table ¦ inline-table ¦ table-row ¦ table-cell ¦ table-column ¦
      table-caption ¦ table-row-group ¦ table-header-group ¦ table-footer-group ¦ table-column-group ¦ ruby ¦
      ruby-text ¦ flow ¦ flow-root ¦ block flow ¦ flow block ¦ inline flow-root ¦ block flow-root ¦
      flow-root list-item ¦ list-item block ¦ inline list-item ¦ block list-item flow ¦ block ruby ¦ inline ruby ¦
      block flex ¦ inline flex ¦ flex inline ¦ inline grid ¦ block table ¦ inline table ¦ block math
    `),
    dropped: list(`
      default ¦ -moz-inline-block ¦ -moz-stack ¦ -moz-deck ¦ -moz-groupbox ¦ run-in ¦ inline-list-item ¦ marker ¦
      box ¦ stretch ¦ -webkit-auto ¦ subgrid ¦ absolute ¦ fixed ¦ left ¦ bottom ¦ clip ¦ -moz-hidden-unscrollable ¦
      xx-large ¦ -webkit-xxx-large ¦ status-bar ¦ rebeccapurple ¦ darkgrey ¦ ButtonFace ¦ linktext ¦ mark ¦
      marktext ¦ accentcolor ¦ fieldtext ¦ highlight ¦ -webkit-text ¦ -webkit-focus-ring-color ¦ ffffff ¦ 000 ¦
      #fff ¦ #ffffff ¦ #ffffffff ¦ #fffffff ¦ #ggg ¦ solid ¦ italic ¦ fill-box ¦ margin-box ¦ path ¦
      list-item flex ¦ none none ¦ hidden auto ¦ clip visible ¦ scroll hidden ¦ visible hidden ¦ static x ¦
      fixed absolute ¦ hanging 10px ¦ 2px hanging each-line
    `),
    unread: list(`
      revert-rule
    `),
  },
  visibility: {
    taken: list(`
      hidden ¦ visible ¦ collapse ¦ inherit ¦ initial ¦ unset ¦ revert ¦ revert-layer ¦ INHERIT ¦ Initial
    `),
    dropped: list(`
      inline ¦ inline-block ¦ -moz-box ¦ -webkit-flex ¦ -webkit-inline-flex ¦ -moz-inline-stack ¦ -moz-stack ¦
      -moz-grid ¦ -ms-inline-grid ¦ run-in ¦ table-row ¦ ruby ¦ ruby-base ¦ ruby-text-container ¦ flow-root ¦
      marker ¦ box ¦ fit-content ¦ stretch ¦ content ¦ subgrid ¦ static ¦ left ¦ right ¦ -moz-hidden-unscrollable ¦
      -webkit-paged-x ¦ large ¦ xxx-large ¦ message-box ¦ red ¦ darkgrey ¦ lightgoldenrodyellow ¦ WindowText ¦
      buttonface ¦ visitedtext ¦ accentcolortext ¦ highlighttext ¦ activeborder ¦ -webkit-focus-ring-color ¦
      -internal-light-dark ¦ fff ¦ #fff ¦ #fffff ¦ #ffffff ¦ #ffffffff ¦ #fffffff ¦ all ¦ hanging ¦ bold ¦ italic ¦
      view-box ¦ border-box ¦ padding-box ¦ content-box ¦ path ¦ inline flow-root ¦ list-item block ¦ inline ruby ¦
      inline grid ¦ block table ¦ inline table ¦ run-in flow ¦ inline-block block ¦ hidden auto ¦ scroll hidden ¦
      overlay auto ¦ hidden hidden hidden ¦ hidden, auto ¦ visible hidden ¦ static x ¦ 10px hanging ¦ hanging 10px ¦
      10px each-line ¦ 2px hanging each-line
    `),
    unread: list(`
      revert-rule
    `),
  },
  opacity: {
    taken: list(`
      0 ¦ 1 ¦ 123456 ¦ .5 ¦ -.5 ¦ 50% ¦ 1e-3 ¦ 1e-3% ¦ +.1 ¦ calc(0) ¦ calc(50%) ¦ min(0,1) ¦ inherit ¦ initial ¦
      unset ¦ revert ¦ revert-layer ¦ INHERIT ¦ Initial ¦ 000
    `),
    dropped: list(`
      0.0.1 ¦ 1. ¦ . ¦ 1 1 ¦ calc(1px) ¦ opacity ¦ 0x ¦ 0px ¦ 0 0 ¦ "0" ¦ inherit,inherit ¦ block ¦ inline-block ¦
      -moz-box ¦ -webkit-inline-box ¦ flex ¦ -ms-flexbox ¦ -moz-inline-stack ¦ -moz-grid ¦ grid-lanes ¦ math ¦
      table ¦ ruby-text ¦ ruby-base-container ¦ flow ¦ inline-list-item ¦ -ms-inline-flexbox ¦ box ¦ stretch ¦
      -webkit-auto ¦ subgrid ¦ sticky ¦ left ¦ bottom ¦ overlay ¦ -moz-hidden-unscrollable ¦ -webkit-paged-y ¦
      small ¦ x-small ¦ smaller ¦ caption ¦ status-bar ¦ -apple-system-body ¦ red ¦ currentColour ¦ peru ¦
      WindowText ¦ buttonface ¦ marktext ¦ accentcolortext ¦ highlight ¦ inactivecaption ¦ -internal-light-dark ¦
      fff ¦ #fff ¦ #fffff ¦ #ffffff ¦ #ffffffff ¦ all ¦ bold ¦ path ¦ block flow ¦ flow block ¦ block flow-root ¦
      inline-block flow ¦ flow-root list-item ¦ inline list-item ¦ block ruby ¦ inline ruby ¦ block flex ¦
      flex inline ¦ inline grid ¦ block table ¦ block inline ¦ block none ¦ block math ¦ clip visible ¦
      fixed absolute
    `),
    unread: list(`
      round(.5, 1) ¦ attr(x) ¦ sign(1px) ¦ revert-rule
    `),
  },
  color: {
    taken: list(`
      rgb(1,2,3) ¦ rgb(1,2,3,.5) ¦ rgb(1,2,3,50%) ¦ rgb(1 2 3) ¦ rgb(1 2 3 / .5) ¦ rgb(1%,2%,3%) ¦ rgb(1% 2 3) ¦
      rgb(none 0 0) ¦ rgba(1,2,3) ¦ rgba(1,2,3,.5) ¦ rgba(1 2 3/50%) ¦ rgb(1.5,2,3) ¦ rgb(1e1,2,3) ¦ rgb(300,-1,0) ¦
      rgb(calc(1),2,3) ¦ RGB(1,2,3) ¦ hsl(1,2%,3%) ¦ hsl(1 2 3) ¦ hsl(1deg 2% 3%) ¦ hsl(1deg,2%,3%,.5) ¦
      hsl(1rad 2% 3% / 1) ¦ hsl(1turn,2%,3%) ¦ hsla(1,2%,3%,.1) ¦ hwb(1 2% 3%) ¦ hwb(1 2 3) ¦ lab(1 2 3) ¦
      lab(1% 2 3 / .5) ¦ lch(1 2 3) ¦ lch(1 2 3deg) ¦ oklab(.1 .2 .3) ¦ oklch(.1 .2 3) ¦ oklch(50% .1 20) ¦
      color(srgb 1 0 0) ¦ color(display-p3 1 1 1 / 0) ¦ color(xyz 1 1 1) ¦ color-mix(in srgb, red, blue) ¦
      color-mix(in oklab, red 10%, blue) ¦ color-mix(in lch longer hue, red, blue) ¦ light-dark(red, blue) ¦
      rgb(1 none 3) ¦ hsl(none none none) ¦ rgb(1 2 3 / none) ¦ color(srgb-linear 1 1 1) ¦ color(a98-rgb 1 1 1) ¦
      color(prophoto-rgb 1 1 1) ¦ color(rec2020 1 1 1) ¦ color(xyz-d50 1 1 1) ¦ color(xyz-d65 1 1 1) ¦
      color(display-p3-linear 1 1 1) ¦ inherit ¦ initial ¦ unset ¦ revert ¦ revert-layer ¦ INHERIT ¦ Initial ¦
      menu ¦ red ¦ RED ¦ transparent ¦ currentcolor ¦ CurrentColor ¦ rebeccapurple ¦ darkgrey ¦
      lightgoldenrodyellow ¦ peru ¦ canvas ¦ canvastext ¦ windowtext ¦ WindowText ¦ ButtonFace ¦ buttonface ¦
      activetext ¦ linktext ¦ visitedtext ¦ mark ¦ marktext ¦ accentcolor ¦ accentcolortext ¦ field ¦ fieldtext ¦
      graytext ¦ highlight ¦ highlighttext ¦ selecteditem ¦ background ¦ activeborder ¦ inactivecaption ¦ #fff ¦
      #ffff ¦ #ffffff ¦ #ffffffff
    `),
    dropped: list(`
      rgb(1,2) ¦ rgb(1 2 3 .5) ¦ rgb(1%,2,3) ¦ rgb(none,0,0) ¦ rgb(1 2 3 ¦ hsl(1,2,3) ¦ hsl(1%,2%,3%) ¦
      hwb(1,2%,3%) ¦ lab(1,2,3) ¦ color(srgb 1 1) ¦ light-dark(red) ¦ device-cmyk(0 0 0 1) ¦ alpha(red) ¦
      color-layers(red) ¦ rgb(1,2,3) x ¦ red blue ¦ red/blue ¦ #fff #000 ¦ ictcp(1 1 1) ¦ jzazbz(1 1 1) ¦ hidden ¦
      visible ¦ inherit,inherit ¦ flex ¦ -ms-grid ¦ -moz-inline-block ¦ -moz-deck ¦ inline-grid ¦ grid-lanes ¦
      masonry ¦ table-cell ¦ table-caption ¦ ruby ¦ inline-list-item ¦ -ms-inline-flexbox ¦ box ¦ min-content ¦
      max-content ¦ -moz-sticky ¦ clip ¦ -webkit-paged-y ¦ xx-large ¦ xxx-large ¦ larger ¦ -moz-dialog ¦
      -internal-light-dark ¦ #fffff ¦ #fffffff ¦ solid ¦ italic ¦ padding-box ¦ content-box ¦ path ¦ block flow ¦
      flow block ¦ inline flow-root ¦ block flow-root ¦ inline-block flow ¦ flow-root list-item ¦ inline list-item ¦
      block list-item flow ¦ list-item flex ¦ inline ruby ¦ block flex ¦ inline flex ¦ inline grid ¦ block inline ¦
      none none ¦ block none ¦ hidden auto ¦ clip visible ¦ scroll hidden ¦ overlay auto ¦ hidden, auto ¦
      fixed absolute ¦ 2px hanging each-line
    `),
    unread: list(`
      rgb(from red r g b) ¦ rgb(from red 0 0 0 / 0) ¦ color-mix(red, blue) ¦ contrast-color(red) ¦
      oklch(from red l c h) ¦ lab(from red l a b / 0) ¦ color(from red srgb r g b) ¦ hsl(from red h s l) ¦
      revert-rule ¦ -webkit-link ¦ -webkit-activelink
    `),
  },
  font: {
    taken: list(`
      12px serif ¦ 0 serif ¦ 0/0 a ¦ 12px/1.5 a ¦ 12px / 1.5 a ¦ bold 12px a ¦ 12px bold a ¦
      italic bold 12px/1 a, b ¦ normal normal normal normal 1px a ¦ small-caps 1px a ¦ condensed 1px a ¦
      oblique 10deg 1px a ¦ 1px "a" ¦ 1px a b c ¦ caption ¦ 12px caption ¦ icon ¦ menu ¦ 1px/16 a ¦ medium a ¦
      larger a ¦ xxx-large a ¦ 1px/normal a ¦ 900 1px a ¦ 1000 1px a ¦ 1 1px a ¦ 1px/1px serif ¦ 1PX A ¦ math a ¦
      calc(1px) a ¦ calc(1px)/calc(2px) a ¦ ultra-condensed 1px a ¦ italic small-caps 700 expanded 1px/2 "x", y ¦
      1px -apple-system ¦ 1px system-ui, -apple-system, "Segoe UI" ¦ 1px -a ¦ 1px --a ¦ initial ¦ inherit ¦ unset ¦
      revert ¦ revert-layer ¦ INHERIT ¦ Initial
    `),
    dropped: list(`
      0 ¦ 12px/ a ¦ italic italic 12px a ¦ 75% 1px a ¦ 1px a, b, ¦ 1px ,a ¦ 1px a 2 ¦ 1px 2a ¦ 1px a, inherit ¦
      1px initial ¦ bold ¦ caption 12px ¦ 1px/-1 a ¦ 0 1px a ¦ 1px 'a ¦ 1px a(b) ¦ 1px (a) ¦ 1px -1a ¦ url(x) ¦
      url("x") ¦ red url(x) ¦ red url(x) no-repeat ¦ center / cover ¦ center/cover url(x) ¦
      url(x) center / cover no-repeat ¦ linear-gradient(red, blue) ¦ linear-gradient(red) ¦
      linear-gradient(to right, red, blue) ¦ linear-gradient(90deg, red, blue) ¦
      linear-gradient(to top left, red 10%, blue) ¦ linear-gradient() ¦ linear-gradient(left, red, blue) ¦
      -webkit-linear-gradient(left, red, blue) ¦ -webkit-gradient(linear, 0 0, 0 100%, from(red), to(blue)) ¦
      -webkit-gradient(linear, left top, left bottom, from(#fff), to(#000)) ¦ radial-gradient(red, blue) ¦
      radial-gradient(circle, red, blue) ¦ radial-gradient(circle at center, red, blue) ¦
      radial-gradient(center, red, blue) ¦ -webkit-radial-gradient(center, red, blue) ¦ conic-gradient(red, blue) ¦
      -webkit-image-set(url(x) 1x) ¦ image-set(url(x)) ¦ cross-fade(url(x), url(y)) ¦
      -webkit-cross-fade(url(x), url(y), 50%) ¦ paint(x) ¦ 0 0 ¦ left top 1px ¦ 1px 2px ¦ top left ¦
      border-box red ¦ round space ¦ red none ¦ fff ¦ #fffff ¦ red url(x ¦ url(x)red ¦ red inherit ¦
      red 0 0 / cover x ¦ left 10px top 20px red ¦ red / cover ¦ linear-gradient(in oklab, red, blue) ¦
      linear-gradient(red 0 50%, blue 0) ¦ linear-gradient(red blue) ¦ rgb(1,2) ¦ normal ¦ visible ¦ collapse ¦
      -webkit-inline-box ¦ -moz-inline-block ¦ -moz-inline-box ¦ -moz-deck
    `),
    unread: list(`
      1px inherit a ¦ revert-rule
    `),
  },
  background: {
    taken: list(`
      0 ¦ 12px ¦ none ¦ red ¦ url(x) ¦ url("x") ¦ url( x ) ¦ url(x) red ¦ red url(x) ¦ red url(x) no-repeat ¦
      no-repeat ¦ center ¦ center / cover ¦ center/cover url(x) ¦ url(x) center / cover no-repeat ¦ url(x), red ¦
      url(x), url(y) red ¦ linear-gradient(red, blue) ¦ linear-gradient(red) ¦
      linear-gradient(to right, red, blue) ¦ linear-gradient(90deg, red, blue) ¦
      linear-gradient(to top left, red 10%, blue) ¦ -webkit-linear-gradient(left, red, blue) ¦
      -webkit-gradient(linear, 0 0, 0 100%, from(red), to(blue)) ¦
      -webkit-gradient(linear, left top, left bottom, from(#fff), to(#000)) ¦ radial-gradient(red, blue) ¦
      radial-gradient(circle, red, blue) ¦ radial-gradient(circle at center, red, blue) ¦
      -webkit-radial-gradient(center, red, blue) ¦ -webkit-radial-gradient(circle, red, blue) ¦
      conic-gradient(red, blue) ¦ repeating-linear-gradient(red, blue 10px) ¦ repeating-radial-gradient(red, blue) ¦
      image-set("x" 1x) ¦ image(red) ¦ 0 0 ¦ 0 0 red ¦ left top ¦ left top 1px ¦ 1px 2px ¦ top left ¦ fixed red ¦
      scroll ¦ local ¦ border-box red ¦ border-box padding-box red ¦ repeat-x ¦ repeat no-repeat ¦ round space ¦
      red none ¦ none red ¦ transparent none repeat scroll 0 0 ¦ none transparent ¦ #fff url(x) repeat-x 0 -10px ¦
      url(x)red ¦ url(x)no-repeat ¦ initial ¦ 0% ¦ red 0 0 / 10px 10px ¦ URL(x) ¦ left 10px top 20px red ¦
      linear-gradient(red, 10%, blue) ¦ linear-gradient(in oklab, red, blue) ¦ linear-gradient(red 0 50%, blue 0) ¦
      linear-gradient(currentcolor, transparent) ¦ rgb(1,2,3) 0 0 ¦ rgb(1,2,3) ¦ rgb(1,2,3,.5) ¦ rgb(1,2,3,50%) ¦
      rgb(1 2 3) ¦ rgb(1 2 3 / .5) ¦ rgb(1%,2%,3%) ¦ rgb(1% 2 3) ¦ rgb(none 0 0) ¦ rgba(1,2,3) ¦ rgba(1,2,3,.5) ¦
      rgba(1 2 3/50%) ¦ rgb(1.5,2,3) ¦ rgb(1e1,2,3) ¦ rgb(300,-1,0) ¦ rgb(calc(1),2,3) ¦ RGB(1,2,3) ¦ hsl(1,2%,3%) ¦
      hsl(1 2 3) ¦ hsl(1deg 2% 3%) ¦ hsl(1deg,2%,3%,.5) ¦ hsl(1rad 2% 3% / 1) ¦ hsl(1turn,2%,3%) ¦
      hsla(1,2%,3%,.1) ¦ hwb(1 2% 3%) ¦ hwb(1 2 3) ¦ lab(1 2 3) ¦ lab(1% 2 3 / .5) ¦ lch(1 2 3) ¦ lch(1 2 3deg) ¦
      oklab(.1 .2 .3) ¦ oklch(.1 .2 3) ¦ oklch(50% .1 20) ¦ color(srgb 1 0 0) ¦ color(display-p3 1 1 1 / 0) ¦
      color(xyz 1 1 1) ¦ color-mix(in srgb, red, blue) ¦ color-mix(in oklab, red 10%, blue) ¦
      color-mix(in lch longer hue, red, blue) ¦ light-dark(red, blue) ¦ rgb(1 none 3) ¦ hsl(none none none) ¦
      rgb(1 2 3 / none) ¦ color(srgb-linear 1 1 1) ¦ color(a98-rgb 1 1 1) ¦ color(prophoto-rgb 1 1 1) ¦
      color(rec2020 1 1 1) ¦ color(xyz-d50 1 1 1) ¦ color(xyz-d65 1 1 1) ¦ color(display-p3-linear 1 1 1) ¦
      inherit ¦ unset ¦ revert ¦ revert-layer ¦ INHERIT ¦ Initial ¦ fixed ¦ left ¦ right ¦ top ¦ bottom ¦ RED ¦
      transparent ¦ currentcolor ¦ CurrentColor ¦ rebeccapurple ¦ darkgrey ¦ lightgoldenrodyellow ¦ peru ¦ canvas ¦
      canvastext ¦ ButtonFace ¦ buttonface ¦ activetext ¦ linktext ¦ visitedtext ¦ mark ¦ marktext ¦ accentcolor ¦
      accentcolortext ¦ field ¦ fieldtext ¦ graytext ¦ highlight ¦ highlighttext ¦ selecteditem ¦ 000 ¦ #fff ¦
      #ffff ¦ #ffffff ¦ #ffffffff ¦ border-box ¦ padding-box ¦ content-box
    `),
    dropped: list(`
      123456 ¦ 0 serif ¦ 12px/1.5 a ¦ /12px a ¦ bold 12px a ¦ 12px bold a ¦ italic bold 12px/1 a, b ¦
      italic italic 12px a ¦ normal normal normal normal 1px a ¦ normal normal normal normal normal 1px a ¦
      small-caps 1px a ¦ condensed 1px a ¦ oblique 10deg 1px a ¦ 1px "a" ¦ 1px a b c ¦ 1px a, b, ¦ 1px ,a ¦
      1px a 2 ¦ 1px 2a ¦ 1px inherit a ¦ 1px initial ¦ 1px default ¦ 12px caption ¦ caption 12px ¦ 16 a ¦ 1px/-1 a ¦
      -1px a ¦ larger a ¦ xxx-large a ¦ 1px/normal a ¦ 900 1px a ¦ 1000 1px a ¦ 0 1px a ¦ 1 1px a ¦ 1PX A ¦
      bolder lighter 1px a ¦ ultra-condensed 1px a ¦ 1px system-ui, -apple-system, "Segoe UI" ¦ 1px 'a ¦ 1px a(b) ¦
      1px #a ¦ 1px 1a ¦ 1px -a ¦ 1px --a ¦ 1px -1a ¦ / cover ¦ red, url(x) ¦ linear-gradient() ¦
      linear-gradient(left, red, blue) ¦ -webkit-linear-gradient(to left, red, blue) ¦
      -moz-linear-gradient(left, red, blue) ¦ cross-fade(url(x), url(y)) ¦ element(#x) ¦ paint(x) ¦ left left ¦
      red red ¦ #fffff ¦ inherit red ¦ red inherit ¦ red 0 0 / cover x ¦ stripes(red) ¦ url(x) 16 16 ¦ rgb(1,2) ¦
      rgb(1 2 3 .5) ¦ rgb(1,2,3 / .5) ¦ rgb(1%,2,3) ¦ rgb(1 2 3 ¦ rgb() ¦ rgb(1px,2,3) ¦ rgb (1,2,3) ¦
      hsl(1%,2%,3%) ¦ hwb(1,2%,3%) ¦ lab(1,2,3) ¦ color(bogus 1 1 1) ¦ color(srgb 1 1) ¦ color(--x 1 1 1) ¦
      color-mix(in srgb, red) ¦ device-cmyk(0 0 0 1) ¦ color-contrast(red) ¦ alpha(red) ¦ color-layers(red) ¦
      red blue ¦ red/blue ¦ #fff #000 ¦ progid:DXImageTransform.Microsoft.Alpha(opacity=0) ¦ rgb(from red r g) ¦
      ictcp(1 1 1) ¦ jzazbz(1 1 1) ¦ hidden ¦ visible ¦ inherit,inherit ¦ inline ¦ -moz-box ¦ inline-flex ¦
      -ms-flexbox ¦ grid-lanes ¦ math ¦ inline-table ¦ table-row ¦ table-column ¦ table-row-group ¦
      table-header-group ¦ inline-list-item ¦ compact ¦ -ms-inline-flexbox ¦ max-content ¦ content ¦
      -webkit-sticky ¦ clip ¦ -moz-hidden-unscrollable ¦ -webkit-paged-y ¦ x-small ¦ -webkit-xxx-large ¦
      status-bar ¦ -apple-system-body ¦ -webkit-mini-control ¦ -webkit-text ¦ # ¦ all ¦ solid ¦ margin-box ¦
      flow block ¦ inline flow-root ¦ block flow-root ¦ list-item block ¦ list-item flex ¦ block table ¦ none none ¦
      block none ¦ block math ¦ run-in flow ¦ inline-block block ¦ hidden auto ¦ scroll hidden ¦ overlay auto ¦
      hidden, auto ¦ visible hidden ¦ static x ¦ fixed absolute ¦ 10px each-line ¦ 2px hanging each-line
    `),
    unread: list(`
      menu ¦ -webkit-image-set(url(x) 1x) ¦ image-set(url(x)) ¦ -webkit-cross-fade(url(x), url(y), 50%) ¦ text ¦
      rgb(from red r g b) ¦ rgb(from red 0 0 0 / 0) ¦ color-mix(red, blue) ¦ contrast-color(red) ¦
      oklch(from red l c h) ¦ lab(from red l a b / 0) ¦ color(from red srgb r g b) ¦ hsl(from red h s l) ¦
      revert-rule ¦ windowtext ¦ WindowText ¦ background ¦ activeborder ¦ inactivecaption ¦ -webkit-link ¦
      -webkit-activelink
    `),
  },
  width: {
    taken: list(`
      0 ¦ 00 ¦ -0 ¦ +0 ¦ 0px ¦ 1px ¦ 1PX ¦ .5px ¦ +3px ¦ 1e3px ¦ 1.5em ¦ 2rem ¦ 3ex ¦ 4ch ¦ 5vw ¦ 6vh ¦ 7vmin ¦
      8vmax ¦ 9pt ¦ 1pc ¦ 2in ¦ 3cm ¦ 4mm ¦ 5q ¦ 6Q ¦ 1dvh ¦ 1svw ¦ 1lvh ¦ 1vi ¦ 1vb ¦ 1cqw ¦ 1cqmin ¦ 1lh ¦ 1rlh ¦
      1ic ¦ 1cap ¦ 1rex ¦ 1rch ¦ 10% ¦ 0% ¦ 1000% ¦ 3px ¦ calc(1px) ¦ calc(1px + 2%) ¦ calc( 1px * 2 ) ¦
      calc(1px / 0) ¦ min(1px, 2px) ¦ max(1px) ¦ clamp(1px, 2px, 3px) ¦ -webkit-fill-available ¦ calc(1px - -1px) ¦
      calc(1px + (2px * 3)) ¦ CALC(1PX) ¦ auto ¦ inherit ¦ initial ¦ unset ¦ revert ¦ revert-layer ¦ INHERIT ¦
      Initial ¦ min-content ¦ max-content ¦ fit-content ¦ stretch ¦ 000
    `),
    dropped: list(`
      5.px ¦ 5. ¦ -1px ¦ -16 ¦ 1px1 ¦ #1 ¦ 0x10 ¦ calc(1px+2px) ¦ calc(1 + 1) ¦ calc(1s) ¦ calc() ¦ clamp(1px,2px) ¦
      sign(1px) ¦ -moz-calc(1px) ¦ url(x) ¦ fit-content(1px) ¦ 1px, ¦ [1px] ¦ {1px} ¦ 1px{} ¦ -moz-available ¦
      min-intrinsic ¦ calc(1px -1px) ¦ light-dark(1px,2px) ¦ toggle(1px) ¦ $1 ¦ ~1px ¦ visible ¦ inherit,inherit ¦
      block ¦ -moz-inline-stack ¦ -moz-groupbox ¦ inline-grid ¦ contents ¦ table-row ¦ table-cell ¦ table-caption ¦
      table-row-group ¦ table-column-group ¦ ruby-text ¦ ruby-text-container ¦ inline-list-item ¦ compact ¦
      -ms-inline-flexbox ¦ content ¦ -webkit-auto ¦ subgrid ¦ absolute ¦ fixed ¦ top ¦ scroll ¦ -webkit-paged-y ¦
      xx-large ¦ larger ¦ -webkit-xxx-large ¦ caption ¦ message-box ¦ -apple-system-body ¦ -webkit-mini-control ¦
      currentcolor ¦ currentColour ¦ rebeccapurple ¦ darkgrey ¦ linktext ¦ accentcolor ¦ fieldtext ¦ selecteditem ¦
      background ¦ -webkit-text ¦ -webkit-link ¦ -internal-light-dark ¦ fff ¦ ffffff ¦ #ffffff ¦ #ggg ¦ # ¦ all ¦
      block flow-root ¦ flow-root list-item ¦ inline list-item ¦ block list-item flow ¦ list-item flex ¦
      inline ruby ¦ block flex ¦ inline flex ¦ flex inline ¦ inline grid ¦ inline table ¦ block none ¦ block math ¦
      inline-block block ¦ clip visible ¦ overlay auto ¦ hidden hidden hidden ¦ static x ¦ fixed absolute ¦
      hanging 10px ¦ 10px each-line ¦ 2px hanging each-line
    `),
    unread: list(`
      round(up, 1px, 2px) ¦ mod(3px,2px) ¦ abs(-1px) ¦ -webkit-calc(1px) ¦ attr(x) ¦ attr(x px) ¦
      calc-size(auto, size) ¦ anchor-size(width) ¦ calc(infinity*1px) ¦ calc(NaN*1px) ¦ hypot(3px) ¦
      -webkit-max-content ¦ -webkit-min-content ¦ -webkit-fit-content ¦ random(1px,2px) ¦
      calc(1px * sibling-index()) ¦ revert-rule
    `),
  },
  overflow: {
    taken: list(`
      auto ¦ hidden ¦ visible ¦ inherit ¦ initial ¦ unset ¦ revert ¦ revert-layer ¦ INHERIT ¦ Initial ¦ scroll ¦
      clip ¦ overlay ¦ hidden auto ¦ clip visible ¦ scroll hidden ¦ overlay auto ¦ visible hidden
    `),
    dropped: list(`
      123456 ¦ x ¦ block ¦ -webkit-inline-box ¦ flex ¦ -ms-grid ¦ -webkit-flex ¦ -webkit-inline-flex ¦
      -moz-inline-stack ¦ -moz-deck ¦ -moz-groupbox ¦ grid ¦ -ms-inline-grid ¦ masonry ¦ run-in ¦ table-cell ¦
      table-column-group ¦ ruby ¦ ruby-text-container ¦ flow ¦ marker ¦ box ¦ fit-content ¦ -webkit-auto ¦
      relative ¦ -ms-page ¦ bottom ¦ x-small ¦ xxx-large ¦ message-box ¦ -apple-system-body ¦ red ¦ currentcolor ¦
      currentColour ¦ darkgrey ¦ lightgoldenrodyellow ¦ WindowText ¦ ButtonFace ¦ buttonface ¦ activetext ¦
      linktext ¦ marktext ¦ accentcolortext ¦ selecteditem ¦ activeborder ¦ -webkit-focus-ring-color ¦ -moz-dialog ¦
      000 ¦ #fff ¦ #ffff ¦ #fffff ¦ #ffffff ¦ # ¦ ff ¦ each-line ¦ fill-box ¦ border-box ¦ margin-box ¦ path ¦
      text ¦ block flow ¦ inline flow-root ¦ block flow-root ¦ inline-block flow ¦ flow-root list-item ¦
      list-item block ¦ inline list-item ¦ inline ruby ¦ block flex ¦ inline grid ¦ block table ¦ inline table ¦
      block none ¦ block math ¦ run-in flow ¦ inline-block block ¦ static x ¦ 10px hanging ¦ 10px each-line
    `),
    unread: list(`
      revert-rule
    `),
  },
  position: {
    taken: list(`
      inherit ¦ initial ¦ unset ¦ revert ¦ revert-layer ¦ INHERIT ¦ Initial ¦ static ¦ relative ¦ absolute ¦ fixed ¦
      sticky
    `),
    dropped: list(`
      none ¦ inherit,inherit ¦ -moz-box ¦ flex ¦ -ms-grid ¦ -webkit-flex ¦ -moz-stack ¦ -moz-popup ¦ grid ¦
      masonry ¦ contents ¦ table-row-group ¦ table-footer-group ¦ table-column-group ¦ ruby ¦ ruby-base ¦
      ruby-base-container ¦ inline-list-item ¦ marker ¦ max-content ¦ -moz-sticky ¦ clip ¦
      -moz-hidden-unscrollable ¦ -webkit-paged-x ¦ small ¦ medium ¦ xx-large ¦ larger ¦ small-caption ¦
      -webkit-mini-control ¦ currentcolor ¦ lightgoldenrodyellow ¦ ButtonFace ¦ fieldtext ¦ highlight ¦
      highlighttext ¦ selecteditem ¦ background ¦ inactivecaption ¦ -webkit-text ¦ -webkit-focus-ring-color ¦
      ffffff ¦ 000 ¦ #fff ¦ #ffff ¦ #fffff ¦ #ffffff ¦ #ggg ¦ # ¦ all ¦ solid ¦ view-box ¦ border-box ¦ margin-box ¦
      path ¦ text ¦ block flow ¦ flow block ¦ inline flow-root ¦ inline-block flow ¦ flow-root list-item ¦
      inline list-item ¦ block list-item flow ¦ block ruby ¦ block flex ¦ inline flex ¦ flex inline ¦ inline grid ¦
      inline table ¦ block inline ¦ none none ¦ hidden auto ¦ clip visible ¦ scroll hidden ¦ hidden hidden hidden ¦
      fixed absolute ¦ 10px hanging ¦ 2px hanging each-line
    `),
    unread: list(`
      revert-rule
    `),
  },
  left: {
    taken: list(`
      0 ¦ 00 ¦ -0 ¦ +0 ¦ 0px ¦ 1px ¦ 1PX ¦ .5px ¦ -1px ¦ +3px ¦ 1e3px ¦ 1.5em ¦ 2rem ¦ 3ex ¦ 4ch ¦ 5vw ¦ 6vh ¦
      7vmin ¦ 8vmax ¦ 9pt ¦ 1pc ¦ 2in ¦ 3cm ¦ 4mm ¦ 5q ¦ 6Q ¦ 1dvh ¦ 1svw ¦ 1lvh ¦ 1vi ¦ 1vb ¦ 1cqw ¦ 1cqmin ¦ 1lh ¦
      1rlh ¦ 1ic ¦ 1cap ¦ 1rex ¦ 1rch ¦ 10% ¦ -10% ¦ 0% ¦ 1000% ¦ 3px ¦ calc(1px) ¦ calc(1px + 2%) ¦
      calc( 1px * 2 ) ¦ calc(1px / 0) ¦ min(1px, 2px) ¦ max(1px) ¦ clamp(1px, 2px, 3px) ¦ calc(1px - -1px) ¦
      calc(1px + (2px * 3)) ¦ CALC(1PX) ¦ auto ¦ inherit ¦ initial ¦ unset ¦ revert ¦ revert-layer ¦ INHERIT ¦
      Initial ¦ 000
    `),
    dropped: list(`
      1x ¦ 1bogus ¦ 1px1 ¦ #1 ¦ 0x10 ¦ 1 px ¦ 1px 2px ¦ calc(1px+2px) ¦ calc(1px ¦ sign(1px) ¦ -moz-calc(1px) ¦
      "1px" ¦ 1px important ¦ calc-size(auto, size) ¦ fit-content(1px) ¦ pow(2,2) ¦ (1px) ¦ 1px{} ¦
      -webkit-max-content ¦ progress(1px,0px,2px) ¦ sibling-index() ¦ light-dark(1px,2px) ¦ toggle(1px) ¦
      -internal-x() ¦ $1 ¦ ~1px ¦ hidden ¦ default ¦ inherit,inherit ¦ x ¦ -webkit-inline-box ¦
      -webkit-inline-flex ¦ -moz-stack ¦ -moz-popup ¦ -moz-groupbox ¦ -moz-grid ¦ -ms-inline-grid ¦ list-item ¦
      inline-table ¦ table-column ¦ table-caption ¦ table-row-group ¦ table-footer-group ¦ ruby ¦
      ruby-base-container ¦ marker ¦ max-content ¦ fit-content ¦ content ¦ center ¦ right ¦ scroll ¦ overlay ¦
      -moz-hidden-unscrollable ¦ -webkit-paged-y ¦ -webkit-xxx-large ¦ caption ¦ -apple-system-body ¦ CurrentColor ¦
      rebeccapurple ¦ darkgrey ¦ lightgoldenrodyellow ¦ canvas ¦ WindowText ¦ accentcolor ¦ field ¦ graytext ¦
      highlight ¦ background ¦ activeborder ¦ inactivecaption ¦ -internal-light-dark ¦ ffffff ¦ #fff ¦ #ffff ¦
      #ffffff ¦ #ffffffff ¦ #fffffff ¦ #ggg ¦ bold ¦ fill-box ¦ margin-box ¦ text ¦ flow block ¦ block flow-root ¦
      inline-block flow ¦ flow-root list-item ¦ list-item block ¦ inline list-item ¦ block list-item flow ¦
      block ruby ¦ block flex ¦ flex inline ¦ block inline ¦ none none ¦ run-in flow ¦ hidden auto ¦ clip visible ¦
      scroll hidden ¦ overlay auto ¦ hidden hidden hidden ¦ visible hidden ¦ static x ¦ 10px hanging
    `),
    unread: list(`
      round(up, 1px, 2px) ¦ mod(3px,2px) ¦ abs(-1px) ¦ -webkit-calc(1px) ¦ attr(x) ¦ attr(x px) ¦
      anchor-size(width) ¦ anchor(left) ¦ calc(infinity*1px) ¦ calc(NaN*1px) ¦ hypot(3px) ¦ random(1px,2px) ¦
      calc(1px * sibling-index()) ¦ revert-rule
    `),
  },
  'text-indent': {
    taken: list(`
      0 ¦ 00 ¦ +0 ¦ 1PX ¦ .5px ¦ -1px ¦ +3px ¦ 2rem ¦ 4ch ¦ 5vw ¦ 6vh ¦ 8vmax ¦ 9pt ¦ 2in ¦ 3cm ¦ 5q ¦ 1dvh ¦ 1lvh ¦
      1cqw ¦ 1cap ¦ 1rex ¦ 1rch ¦ 10% ¦ -10% ¦ 3px ¦ calc(1px) ¦ calc(1px + 2%) ¦ calc( 1px * 2 ) ¦ max(1px) ¦
      calc(1px - -1px) ¦ calc(1px + (2px * 3)) ¦ CALC(1PX) ¦ initial ¦ unset ¦ Initial ¦ 10px hanging
    `),
    dropped: list(`
      5.px ¦ 1px/2px ¦ calc(1px+2px) ¦ clamp(1px,2px) ¦ '1px' ¦ calc-size(auto, size) ¦ sqrt(4) ¦ [1px] ¦
      -webkit-fill-available ¦ -moz-max-content ¦ calc(1px -1px) ¦ -internal-x() ¦ $1 ¦ inline ¦ -webkit-box ¦
      -webkit-flex ¦ -moz-inline-box ¦ -moz-deck ¦ table ¦ table-row ¦ table-header-group ¦ table-footer-group ¦
      -ms-inline-flexbox ¦ -moz-sticky ¦ xx-small ¦ xxx-large ¦ icon ¦ mark ¦ highlighttext ¦ selecteditem ¦
      background ¦ -webkit-text ¦ #ffff ¦ # ¦ hanging ¦ each-line ¦ margin-box ¦ path ¦ flow block ¦
      inline flow-root ¦ block flow-root ¦ flow-root list-item ¦ inline list-item ¦ flex inline ¦ inline grid ¦
      block table ¦ run-in flow ¦ clip visible ¦ fixed absolute
    `),
    unread: list(`
      round(up, 1px, 2px) ¦ calc(1px * sibling-index()) ¦ 10px each-line
    `),
  },
  margin: {
    taken: list(`
      0 ¦ 0 auto ¦ 1px 2px 3px ¦ 1px 2px 3px 4px ¦ auto ¦ -9999px ¦ auto auto ¦ 10% 1px ¦ calc(1px) auto ¦
      -9999px auto 0 ¦ 0 0 0 -9999px ¦ 00 ¦ -0 ¦ +0 ¦ 0px ¦ 1px ¦ 1PX ¦ .5px ¦ -1px ¦ +3px ¦ 1e3px ¦ 1.5em ¦ 2rem ¦
      3ex ¦ 4ch ¦ 5vw ¦ 6vh ¦ 7vmin ¦ 8vmax ¦ 9pt ¦ 1pc ¦ 2in ¦ 3cm ¦ 4mm ¦ 5q ¦ 6Q ¦ 1dvh ¦ 1svw ¦ 1lvh ¦ 1vi ¦
      1vb ¦ 1cqw ¦ 1cqmin ¦ 1lh ¦ 1rlh ¦ 1ic ¦ 1cap ¦ 1rex ¦ 1rch ¦ 10% ¦ -10% ¦ 0% ¦ 1000% ¦ 3px ¦ 1px 2px ¦
      calc(1px) ¦ calc(1px + 2%) ¦ calc( 1px * 2 ) ¦ calc(1px / 0) ¦ min(1px, 2px) ¦ max(1px) ¦
      clamp(1px, 2px, 3px) ¦ calc(1px - -1px) ¦ calc(1px + (2px * 3)) ¦ CALC(1PX)
    `),
    dropped: list(`
      1px 2px 3px 4px 5px ¦ 1px,2px ¦ 1px x ¦ inherit 0 ¦ none ¦ 1px/2px ¦ anchor(left) ¦ 1x ¦ 1_px ¦ #1 ¦ 0x10 ¦
      1,5px ¦ 1 px ¦ calc(1px + 1) ¦ calc(1s) ¦ calc() ¦ sign(1px) ¦ "1px" ¦ calc-size(auto, size) ¦ sqrt(4) ¦
      1px, ¦ (1px) ¦ [1px] ¦ {1px} ¦ 1px{} ¦ -webkit-fill-available ¦ -webkit-max-content ¦ -moz-max-content ¦
      -moz-fit-content ¦ intrinsic ¦ calc(1px -1px) ¦ progress(1px,0px,2px) ¦ sibling-index() ¦ --x ¦ toggle(1px) ¦
      -internal-x() ¦ 1px$ ¦ ~1px
    `),
    unread: list(`
      round(up, 1px, 2px) ¦ mod(3px,2px) ¦ abs(-1px) ¦ -webkit-calc(1px) ¦ attr(x) ¦ attr(x px) ¦
      anchor-size(width) ¦ calc(infinity*1px) ¦ calc(NaN*1px) ¦ hypot(3px) ¦ random(1px,2px) ¦
      calc(1px * sibling-index())
    `),
  },
  clip: {
    taken: list(`
      rect(0 0 0 0) ¦ rect(0,0,0,0) ¦ rect(0, 0, 0, 0) ¦ rect(0px,0px,0px,0px) ¦ rect(auto,auto,auto,auto) ¦
      rect(0 auto 0 0) ¦ rect(1px 1px 1px 1px) ¦ auto ¦ inherit ¦ initial ¦ unset ¦ revert ¦ revert-layer ¦
      INHERIT ¦ Initial
    `),
    dropped: list(`
      rect(0 0, 0 0) ¦ rect(1% 1% 1% 1%) ¦ rect() ¦ inset(0) ¦ inset(50%) ¦ inset(100%) ¦ inset(1px 2px 3px 4px) ¦
      inset(1 1) ¦ inset(50% ¦ inset(50%) border-box ¦ inset(0 round 5px) ¦ inset(50%,50%) ¦ circle(0 at 50% 50%) ¦
      circle() ¦ circle(-1px) ¦ circle(0%) ¦ circle(at center) ¦ ellipse(0 0) ¦ ellipse(0) ¦
      ellipse(1px 2px at 0 0) ¦ polygon(0 0,0 0) ¦ polygon(nonzero, 0 0, 1px 1px) ¦ polygon(0px 0px, 0px 0px) ¦
      path("M0 0") ¦ path("bogus") ¦ path(evenodd, "M0 0h1v1z") ¦ url(#x) ¦ url(x) ¦ xywh(0 0 0 0) ¦
      rect(0 0 0 0 round 1px) ¦ shape(from 0 0, line to 1px 1px) ¦ none inset(0) ¦ circle(0 at) ¦
      circle(0 at left 10px) ¦ scale(0) ¦ scale(0,0) ¦ scale(0, 1) ¦ scale(1 2) ¦ scale(50%) ¦ scale(0px) ¦
      translate(-9999px) ¦ translate(-9999px 0) ¦ translateX(0) ¦ translateX(10%) ¦ translate3d(0,0,0) ¦
      translate3d(0,0) ¦ translate(1) ¦ rotate(0) ¦ rotate3d(1,0,0,90deg) ¦ skew(1deg) ¦ matrix(1,0,0,1,0,0) ¦
      matrix3d(1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1) ¦ perspective(1px) ¦ perspective(none) ¦ perspective(0) ¦
      translate(1px) scale(0) ¦ translate(1px), scale(0) ¦ translate(1px)scale(0) ¦ scale(calc(0)) ¦
      translate(calc(1px - 2px)) ¦ SCALE(0) ¦ opacity(0) ¦ opacity(0%) ¦ opacity() ¦ opacity(-1) ¦ opacity(2) ¦
      opacity(x) ¦ alpha(opacity=0) ¦ blur(1px) ¦ contrast(0%) ¦ drop-shadow(1px 1px red) ¦ drop-shadow(1px) ¦
      grayscale(1) ¦ hue-rotate(1deg) ¦ invert(1) ¦ saturate(1) ¦ sepia(1) ¦
      progid:DXImageTransform.Microsoft.gradient(startColorstr='#0',endColorstr='#0') ¦ OPACITY(0) ¦ none ¦
      inherit,inherit ¦ block ¦ -webkit-inline-box ¦ -webkit-flex ¦ -moz-grid ¦ grid ¦ run-in ¦ table ¦
      inline-table ¦ table-row-group ¦ ruby ¦ ruby-text ¦ ruby-text-container ¦ flow ¦ flow-root ¦
      inline-list-item ¦ -ms-inline-flexbox ¦ relative ¦ absolute ¦ fixed ¦ sticky ¦ -moz-sticky ¦ right ¦ scroll ¦
      overlay ¦ -moz-scrollbars-none ¦ x-small ¦ xxx-large ¦ smaller ¦ caption ¦ transparent ¦ CurrentColor ¦
      rebeccapurple ¦ peru ¦ buttonface ¦ linktext ¦ accentcolortext ¦ background ¦ activeborder ¦ -webkit-text ¦
      -internal-light-dark ¦ #fff ¦ #ffff ¦ #ggg ¦ # ¦ hanging ¦ each-line ¦ solid ¦ view-box ¦ content-box ¦ path ¦
      text ¦ flow block ¦ inline flow-root ¦ block flow-root ¦ inline-block flow ¦ flow-root list-item ¦
      block ruby ¦ inline ruby ¦ flex inline ¦ inline grid ¦ block table ¦ inline table ¦ block none ¦ block math ¦
      run-in flow ¦ inline-block block ¦ clip visible ¦ overlay auto ¦ hidden hidden hidden ¦ hidden, auto ¦
      visible x ¦ static x ¦ fixed absolute ¦ 10px hanging ¦ 10px each-line ¦ 2px hanging each-line
    `),
    unread: list(`
      revert-rule
    `),
  },
  'clip-path': {
    taken: list(`
      rect(0 0 0 0) ¦ rect(0 auto 0 0) ¦ rect(1px 1px 1px 1px) ¦ rect(1% 1% 1% 1%) ¦ inset(0) ¦ inset(50%) ¦
      inset(100%) ¦ inset(50% 50%) ¦ inset(1px 2px 3px 4px) ¦ inset(50%) border-box ¦ border-box inset(50%) ¦
      inset(0 round 5px) ¦ circle(0) ¦ circle(0px) ¦ circle(0 at 50% 50%) ¦ circle() ¦ circle(closest-side) ¦
      circle(at center) ¦ ellipse(0 0) ¦ ellipse(1px 2px at 0 0) ¦ polygon(0 0) ¦ polygon(0 0, 0 0, 0 0) ¦
      polygon(0 0,0 0) ¦ polygon(nonzero, 0 0, 1px 1px) ¦ polygon(0px 0px, 0px 0px) ¦ url(#x) ¦ url(x) ¦
      xywh(0 0 0 0) ¦ rect(0 0 0 0 round 1px) ¦ INSET(50%) ¦ circle(0 at left 10px) ¦ url(#f) ¦ none ¦ inherit ¦
      initial ¦ unset ¦ revert ¦ revert-layer ¦ INHERIT ¦ Initial ¦ fill-box ¦ view-box ¦ border-box ¦ padding-box ¦
      content-box ¦ margin-box ¦ stroke-box
    `),
    dropped: list(`
      123456 ¦ rect(0, 0, 0, 0) ¦ rect(0px,0px,0px,0px) ¦ rect(0,0,0) ¦ rect(0 0, 0 0) ¦ rect(auto,auto,auto,auto) ¦
      rect(0,0,0,0) x ¦ rect(1 1 1 1) ¦ inset(1 1) ¦ inset(1px 1px 1px 1px 1px) ¦ path("bogus") ¦ scale(0) ¦
      scale(0, 1) ¦ scale(1 2) ¦ scale(50%) ¦ scale() ¦ scaleX(0) ¦ scalex(0) ¦ scaleZ(0) ¦ translate(-9999px 0) ¦
      translateX(-9999px) ¦ translateX(-9999) ¦ translateX(10%) ¦ translate3d(0,0,0) ¦ translate3d(0,0) ¦
      translate(1) ¦ rotate(1) ¦ rotateX(90deg) ¦ rotate3d(1,0,0,90deg) ¦ matrix(1,0,0,1,0) ¦ matrix(0 0 0 0 0 0) ¦
      matrix3d(1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1) ¦ perspective(0) ¦ translate(1px), scale(0) ¦
      translate(1px)scale(0) ¦ none scale(0) ¦ scale(0 ¦ SCALE(0) ¦ opacity(0) ¦ opacity(50%) ¦ opacity() ¦
      opacity(-1) ¦ opacity(2) ¦ opacity(x) ¦ alpha(opacity=0) ¦ opacity(0) blur(1px) ¦ opacity(0), blur(1px) ¦
      blur(1px) ¦ blur(1) ¦ contrast(0%) ¦ drop-shadow(1px 1px red) ¦ grayscale(1) ¦ hue-rotate(1deg) ¦
      hue-rotate(1) ¦ url(#f) opacity(0) ¦
      progid:DXImageTransform.Microsoft.gradient(startColorstr='#0',endColorstr='#0') ¦ opacity(.5 .5) ¦ hidden ¦
      collapse ¦ inherit,inherit ¦ x ¦ -webkit-flex ¦ -moz-inline-block ¦ -moz-inline-box ¦ -moz-popup ¦
      -ms-inline-grid ¦ masonry ¦ contents ¦ list-item ¦ run-in ¦ table-cell ¦ table-row-group ¦
      table-footer-group ¦ ruby-text ¦ marker ¦ -webkit-auto ¦ subgrid ¦ static ¦ sticky ¦ overlay ¦
      -moz-hidden-unscrollable ¦ -webkit-paged-x ¦ medium ¦ large ¦ xxx-large ¦ larger ¦ menu ¦ small-caption ¦
      -apple-system-body ¦ -webkit-mini-control ¦ red ¦ rebeccapurple ¦ lightgoldenrodyellow ¦ canvas ¦ canvastext ¦
      ButtonFace ¦ field ¦ highlighttext ¦ fff ¦ 000 ¦ #fff ¦ #fffff ¦ #fffffff ¦ #ggg ¦ # ¦ each-line ¦ bold ¦
      italic ¦ flow block ¦ block flow-root ¦ inline-block flow ¦ flow-root list-item ¦ inline list-item ¦
      inline ruby ¦ flex inline ¦ inline grid ¦ block table ¦ block inline ¦ none none ¦ block none ¦ run-in flow ¦
      inline-block block ¦ hidden auto ¦ clip visible ¦ overlay auto ¦ visible hidden ¦ static x ¦ 10px hanging ¦
      10px each-line
    `),
    unread: list(`
      circle(0%) ¦ path("M0 0") ¦ path(evenodd, "M0 0h1v1z") ¦ shape(from 0 0, line to 1px 1px) ¦ revert-rule
    `),
  },
  transform: {
    taken: list(`
      scale(0) ¦ scale(0,0) ¦ scale(0, 1) ¦ scale(50%) ¦ scaleX(0) ¦ scalex(0) ¦ scaleY(0) ¦ scaleZ(0) ¦
      scale3d(0,0,0) ¦ translate(-9999px) ¦ translate(-9999px,0) ¦ translateX(-9999px) ¦ translateY(1px) ¦
      translateX(0) ¦ translateX(10%) ¦ translate3d(0,0,0) ¦ rotate(1deg) ¦ rotate(0) ¦ rotateX(90deg) ¦
      rotate3d(1,0,0,90deg) ¦ skew(1deg) ¦ matrix(1,0,0,1,0,0) ¦ matrix3d(1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1) ¦
      perspective(1px) ¦ perspective(none) ¦ perspective(0) ¦ translate(1px) scale(0) ¦ translate(1px)scale(0) ¦
      scale(calc(0)) ¦ translate(calc(1px - 2px)) ¦ SCALE(0) ¦ none ¦ inherit ¦ initial ¦ unset ¦ revert ¦
      revert-layer ¦ INHERIT ¦ Initial
    `),
    dropped: list(`
      123456 ¦ rect(0 0 0 0) ¦ rect(0, 0, 0, 0) ¦ rect(0px,0px,0px,0px) ¦ rect(0 0, 0 0) ¦
      rect(auto,auto,auto,auto) ¦ rect(1px 1px 1px 1px) ¦ rect(1% 1% 1% 1%) ¦ rect(1 1 1 1) ¦ inset(0) ¦
      inset(50%) ¦ inset(100%) ¦ inset(50% 50%) ¦ inset(1px 2px 3px 4px) ¦ inset(1 1) ¦ inset(50%) border-box ¦
      border-box inset(50%) ¦ circle(0) ¦ circle(0px) ¦ circle() ¦ circle(-1px) ¦ circle(closest-side) ¦
      circle(at center) ¦ ellipse(1px 2px at 0 0) ¦ polygon(0 0) ¦ polygon(0 0, 0 0, 0 0) ¦ polygon(0 0,0 0) ¦
      polygon(0) ¦ polygon(nonzero, 0 0, 1px 1px) ¦ polygon(0px 0px, 0px 0px) ¦ path("M0 0") ¦ path("bogus") ¦
      path(evenodd, "M0 0h1v1z") ¦ url(#x) ¦ url(x) ¦ xywh(0 0 0 0) ¦ rect(0 0 0 0 round 1px) ¦
      shape(from 0 0, line to 1px 1px) ¦ circle(0 at left 10px) ¦ scale(0px) ¦ scale3d(0,0) ¦ translate(-9999px 0) ¦
      translateX(-9999) ¦ translate3d(0,0) ¦ translate(1) ¦ matrix(1,0,0,1,0) ¦ matrix(0 0 0 0 0 0) ¦
      translate(1px), scale(0) ¦ scale(0) x ¦ none scale(0) ¦ opacity(0) ¦ opacity(0%) ¦ opacity(50%) ¦
      opacity(-1) ¦ opacity(2) ¦ opacity(x) ¦ alpha(opacity=50) ¦ opacity(0), blur(1px) ¦ blur(0) ¦ brightness(0) ¦
      drop-shadow(1px 1px red) ¦ drop-shadow(1px) ¦ hue-rotate(1deg) ¦ hue-rotate(1) ¦ saturate(1) ¦ sepia(1) ¦
      url(#f) ¦ progid:DXImageTransform.Microsoft.gradient(startColorstr='#0',endColorstr='#0') ¦ opacity(1e-3) ¦
      OPACITY(0) ¦ normal ¦ visible ¦ inherit,inherit ¦ -moz-stack ¦ -moz-inline-box ¦ -moz-deck ¦ grid ¦ contents ¦
      run-in ¦ table-row ¦ table-caption ¦ table-header-group ¦ table-footer-group ¦ ruby-text ¦
      ruby-base-container ¦ ruby-text-container ¦ inline-list-item ¦ fit-content ¦ subgrid ¦ fixed ¦
      -webkit-sticky ¦ -webkit-paged-x ¦ small ¦ medium ¦ larger ¦ caption ¦ message-box ¦ status-bar ¦ RED ¦
      CurrentColor ¦ currentColour ¦ rebeccapurple ¦ peru ¦ canvas ¦ linktext ¦ mark ¦ field ¦ highlighttext ¦
      activeborder ¦ -moz-cellhighlight ¦ 000 ¦ #ffff ¦ #fffff ¦ #ggg ¦ all ¦ hanging ¦ each-line ¦ bold ¦ italic ¦
      fill-box ¦ margin-box ¦ stroke-box ¦ path ¦ inline flow-root ¦ block flow-root ¦ inline-block flow ¦
      flow-root list-item ¦ inline list-item ¦ block ruby ¦ block flex ¦ inline flex ¦ flex inline ¦ inline grid ¦
      inline table ¦ none none ¦ block none ¦ run-in flow ¦ hidden auto ¦ clip visible ¦ scroll hidden ¦
      hidden hidden hidden ¦ hidden, auto ¦ visible x ¦ visible hidden ¦ static x ¦ fixed absolute ¦ 10px hanging ¦
      hanging 10px
    `),
    unread: list(`
      revert-rule
    `),
  },
  filter: {
    taken: list(`
      url(#x) ¦ url(x) ¦ opacity(0) ¦ opacity(0%) ¦ opacity(50%) ¦ opacity() ¦ opacity(2) ¦ opacity(0) blur(1px) ¦
      blur(1px) ¦ blur(0) ¦ blur() ¦ brightness(0) ¦ contrast(0%) ¦ drop-shadow(1px 1px red) ¦ grayscale(1) ¦
      hue-rotate(1deg) ¦ invert(1) ¦ saturate(1) ¦ sepia(1) ¦ url(#f) ¦ url(#f) opacity(0) ¦ opacity(1e-3) ¦
      OPACITY(0) ¦ none ¦ inherit ¦ initial ¦ unset ¦ revert ¦ revert-layer ¦ INHERIT ¦ Initial
    `),
    dropped: list(`
      123456 ¦ rect(0px,0px,0px,0px) ¦ rect(auto,auto,auto,auto) ¦ rect(0 auto 0 0) ¦ rect(1px 1px 1px 1px) ¦
      rect(0,0,0,0) x ¦ rect(1 1 1 1) ¦ rect(1,1,1,1) ¦ rect() ¦ inset(0) ¦ inset(50%) ¦ inset(100%) ¦
      inset(1px 2px 3px 4px) ¦ inset(1 1) ¦ inset(50%) border-box ¦ inset(0 round 5px) ¦
      inset(1px 1px 1px 1px 1px) ¦ circle(0) ¦ circle(0px) ¦ circle(0%) ¦ circle(closest-side) ¦ circle(at center) ¦
      ellipse(0 0) ¦ ellipse(0) ¦ ellipse(1px 2px at 0 0) ¦ polygon(0 0, 0 0, 0 0) ¦ polygon(0 0,0 0) ¦
      polygon(0px 0px, 0px 0px) ¦ path("M0 0") ¦ path("bogus") ¦ path(evenodd, "M0 0h1v1z") ¦ xywh(0 0 0 0) ¦
      rect(0 0 0 0 round 1px) ¦ none inset(0) ¦ INSET(50%) ¦ circle(0 at) ¦ circle(0 at left 10px) ¦ scale(0, 1) ¦
      scale(0px) ¦ scalex(0) ¦ scaleY(0) ¦ scale3d(0,0) ¦ translate(-9999px) ¦ translateX(-9999px) ¦
      translateY(1px) ¦ translateX(-9999) ¦ translate3d(0,0,0) ¦ translate3d(0,0) ¦ translate(1) ¦ rotate(1deg) ¦
      rotate(1) ¦ rotate(0) ¦ rotate3d(1,0,0,90deg) ¦ skew(1deg) ¦ matrix(1,0,0,1,0,0) ¦ matrix(1,0,0,1,0) ¦
      matrix3d(1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1) ¦ perspective(0) ¦ translate(1px), scale(0) ¦
      translate(1px)scale(0) ¦ scale(calc(0)) ¦ translate(calc(1px - 2px)) ¦ opacity(-1) ¦ opacity(x) ¦
      alpha(opacity=0) ¦ alpha(opacity=50) ¦ opacity(0), blur(1px) ¦ drop-shadow(1px) ¦ hue-rotate(1) ¦ opacity(0 ¦
      progid:DXImageTransform.Microsoft.gradient(startColorstr='#0',endColorstr='#0') ¦ gray ¦ opacity(.5 .5) ¦
      block ¦ inline-block ¦ -webkit-box ¦ flex ¦ -ms-grid ¦ -moz-deck ¦ -moz-popup ¦ -moz-grid ¦ -ms-inline-grid ¦
      grid-lanes ¦ list-item ¦ run-in ¦ table ¦ table-footer-group ¦ ruby ¦ ruby-base ¦ flow ¦ compact ¦ marker ¦
      content ¦ subgrid ¦ static ¦ relative ¦ sticky ¦ -ms-page ¦ top ¦ -webkit-paged-y ¦ status-bar ¦ red ¦ RED ¦
      CurrentColor ¦ darkgrey ¦ peru ¦ canvastext ¦ ButtonFace ¦ mark ¦ accentcolortext ¦ fieldtext ¦ highlight ¦
      activeborder ¦ -webkit-text ¦ -webkit-link ¦ -moz-dialog ¦ 000 ¦ #fffff ¦ #ffffff ¦ #ffffffff ¦ #fffffff ¦
      #ggg ¦ all ¦ bold ¦ fill-box ¦ border-box ¦ padding-box ¦ margin-box ¦ block flow ¦ block flow-root ¦
      inline-block flow ¦ flow-root list-item ¦ list-item block ¦ inline list-item ¦ block list-item flow ¦
      list-item flex ¦ block ruby ¦ inline ruby ¦ block flex ¦ block table ¦ inline table ¦ block inline ¦
      none none ¦ block math ¦ run-in flow ¦ hidden auto ¦ scroll hidden ¦ overlay auto ¦ hidden hidden hidden ¦
      hidden, auto ¦ visible x ¦ visible hidden ¦ static x ¦ fixed absolute ¦ 10px hanging ¦ 10px each-line ¦
      2px hanging each-line
    `),
    unread: list(`
      revert-rule
    `),
  },
  'max-height': {
    taken: list(`
      00 ¦ -0 ¦ +0 ¦ 1PX ¦ .5px ¦ 1.5em ¦ 2rem ¦ 3ex ¦ 4ch ¦ 3cm ¦ 4mm ¦ 6Q ¦ 1lvh ¦ 1cqmin ¦ 1cap ¦ 1000% ¦
      calc(1px + 2%) ¦ min(1px, 2px) ¦ calc(1px - -1px) ¦ initial ¦ revert-layer ¦ INHERIT ¦ Initial ¦ min-content ¦
      000
    `),
    dropped: list(`
      -10% ¦ 1bogus ¦ 1,5px ¦ "1px" ¦ anchor(left) ¦ fit-content(1px) ¦ sqrt(4) ¦ toggle(1px) ¦ first-valid(1px) ¦
      inherit,inherit ¦ inline ¦ -ms-flexbox ¦ -ms-grid ¦ -moz-stack ¦ -moz-deck ¦ list-item ¦ flow ¦
      inline-list-item ¦ right ¦ xx-small ¦ caption ¦ menu ¦ fff ¦ # ¦ italic ¦ text ¦ list-item flex ¦ block ruby ¦
      inline grid ¦ inline table ¦ none none ¦ visible hidden ¦ 10px hanging ¦ 2px hanging each-line
    `),
    unread: list(`
      anchor-size(width) ¦ -webkit-max-content ¦ -webkit-fit-content ¦ calc(1px * sibling-index())
    `),
  },
  'background-color': {
    taken: list(`
      rgb(1,2,3,50%) ¦ rgb(1 2 3 / .5) ¦ rgba(1 2 3/50%) ¦ rgb(1.5,2,3) ¦ hwb(1 2 3) ¦ lch(1 2 3) ¦ lch(1 2 3deg) ¦
      color-mix(in srgb, red, blue) ¦ rgb(1 none 3) ¦ inherit ¦ unset ¦ revert ¦ menu ¦ currentcolor ¦ darkgrey ¦
      peru ¦ windowtext ¦ WindowText ¦ buttonface ¦ mark ¦ field ¦ fieldtext ¦ highlight ¦ #fff ¦ #ffffffff
    `),
    dropped: list(`
      rgb(1,2,3 / .5) ¦ rgb(1 2 3 ¦ hsl(1px,2%,3%) ¦ color(srgb 1 1) ¦ color(--x 1 1 1) ¦ #fff #000 ¦ collapse ¦
      inherit,inherit ¦ -moz-groupbox ¦ ruby-base-container ¦ inline-list-item ¦ marker ¦ status-bar ¦
      -moz-cellhighlight ¦ #fffffff ¦ # ¦ bold ¦ list-item block ¦ block none ¦ static x ¦ 2px hanging each-line
    `),
    unread: list(`
      contrast-color(red) ¦ color(from red srgb r g b)
    `),
  },
}
