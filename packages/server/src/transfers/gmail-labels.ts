// The labels with which Gmail exports the state of a message, in the language of the account.

export type GmailState = 'unread' | 'trash' | 'spam' | 'draft' | 'other'

const WORDS: Record<GmailState, string> = {
  unread: `
    unread, ungelesen, non lu, non lus, no leído, no leídos, da leggere, non letti, não lida,
    não lidas, não lido, ongelezen, nieprzeczytane, oläst, olästa, ulæst, ulest, lukematon,
    lukemattomat, nepřečtené, okunmamış, непрочитанные, непрочитане, 未読, 未读, 未讀, 읽지 않음, 읽지않음`,
  trash: `
    trash, bin, papierkorb, corbeille, papelera, cestino, lixeira, lixo, prullenbak, kosz,
    papperskorgen, papirkurv, papirkurven, søppel, roskakori, koš, çöp kutusu, корзина, кошик,
    ゴミ箱, 已删除邮件, 垃圾桶, 휴지통`,
  spam: `
    spam, junk, courrier indésirable, correo no deseado, skräppost, søppelpost, roskaposti,
    спам, 迷惑メール, 垃圾邮件, 垃圾郵件, 스팸함, 스팸`,
  draft: `
    draft, drafts, entwurf, entwürfe, brouillon, brouillons, borrador, borradores, bozza, bozze,
    rascunho, rascunhos, concept, concepten, wersje robocze, utkast, kladder, luonnokset,
    koncepty, taslaklar, черновики, чернетки, 下書き, 草稿, 임시보관함`,
  other: `
    opened, inbox, sent, archived, chat, geöffnet, posteingang, gesendet, archiviert, ouvert,
    ouverts, boîte de réception, messages envoyés, envoyés, archivé, archivés,
    messages archivés, abierto, abiertos, recibidos, enviados, archivados, aperto, aperti,
    posta in arrivo, inviati, posta inviata, archiviati, aberto, abertos, aberta,
    caixa de entrada, entrada, enviada, enviadas, arquivada, arquivadas, geopend, postvak in,
    verzonden, gearchiveerd, otwarte, odebrane, wysłane, zarchiwizowane, открытые, входящие,
    отправленные, архивированные, 開封済み, 受信トレイ, 送信済み, アーカイブ済み, 已打开, 收件箱, 已发送邮件, 已归档, 열어봄, 받은편지함,
    보낸편지함`,
}

/** Keys are labels in lower case. An import ignores the labels of `other`. */
export const gmailStates: ReadonlyMap<string, GmailState> = new Map(
  Object.entries(WORDS).flatMap(([state, words]) =>
    words.split(',').map((word) => [word.trim(), state as GmailState] as const),
  ),
)
