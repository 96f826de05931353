// Ten contents, of which each kind of file is made, and the text that a reader must find in them.

export type Content = {
  readonly title: string
  readonly paragraphs: readonly string[]
  readonly items: readonly string[]
  readonly table: readonly (readonly string[])[]
}

export const CONTENTS: readonly Content[] = [
  {
    title: 'Invoice 2026-0117',
    paragraphs: ['Due within 14 days.', 'Please name the number when you pay.'],
    items: ['Hosting', 'Support'],
    table: [
      ['Item', 'Hours', 'Price'],
      ['Hosting', '1', '120.00'],
      ['Support', '6', '540.00'],
    ],
  },
  {
    title: 'Angebot für Prüfmaschinen',
    paragraphs: ['Größe: 3 m³, Gewicht: 480 kg.', 'Gültig bis 31.12.2026 – danach auf Anfrage.'],
    items: ['Lieferung frei Haus', 'Montage „vor Ort“'],
    table: [
      ['Menge', 'Bezeichnung'],
      ['2', 'Prüfkörper ÄÖÜ'],
    ],
  },
  {
    title: 'Contrat de location',
    paragraphs: ['Le loyer s’élève à 850 € par mois.', 'Fait à Évry, le 3 février 2026.'],
    items: ['Dépôt de garantie', 'État des lieux'],
    table: [
      ['Pièce', 'Surface'],
      ['Séjour', '22,5'],
      ['Cuisine', '9'],
    ],
  },
  {
    title: 'Minutes of 4 May',
    paragraphs: ['Present: A. Mills, B. Okoro.', 'The budget was approved with 5 votes to 2.'],
    items: ['Write to the landlord', 'Order 40 chairs'],
    table: [
      ['Who', 'What', 'Until'],
      ['Mills', 'Letter', '2026-05-11'],
    ],
  },
  {
    title: 'Packing list',
    paragraphs: ['Container MSKU 123456-7.', 'Gross weight 18,400 kg.'],
    items: ['Pallets are heat treated', 'No dangerous goods'],
    table: [
      ['Box', 'Pieces', 'SKU'],
      ['1', '144', 'A-100'],
      ['2', '96', 'B-220'],
      ['3', '12', 'C/7'],
    ],
  },
  {
    title: 'Curriculum vitae',
    paragraphs: ['Name: Zoë Ångström.', 'Mail: zoe@example.com, telephone +46 8 123 456.'],
    items: ['C++ and C#', 'Swedish, English'],
    table: [
      ['From', 'To', 'Place'],
      ['2019', '2024', 'Malmö'],
    ],
  },
  {
    title: 'Terms & conditions <draft>',
    paragraphs: ['"Goods" means what § 2 lists; 5 < 7 & 7 > 5.', "It's the buyer's duty to check."],
    items: ['Price list "A"', 'R&D'],
    table: [
      ['Clause', 'Text'],
      ['1', 'A & B'],
    ],
  },
  {
    title: 'Zestawienie sprzedaży',
    paragraphs: ['Łódź, Gdańsk i Świętokrzyskie.', 'Suma: 1 234,56 zł.'],
    items: ['Źródło: księgowość', 'Żółta teczka'],
    table: [
      ['Miasto', 'Kwota'],
      ['Łódź', '700'],
      ['Gdańsk', '534'],
    ],
  },
  {
    title: 'Notice of delivery',
    paragraphs: ['Tracking number 1Z999AA10123456784.', 'Code 482 913 opens the box.'],
    items: ['Leave with a neighbour', 'Ring twice'],
    table: [
      ['Day', 'Window'],
      ['Monday', '08:00-12:00'],
    ],
  },
  {
    title: 'Shopping budget',
    paragraphs: ['All amounts are in EUR.', 'The sum is 0.1 + 0.2.'],
    items: ['Paper', 'Ink'],
    table: [
      ['Month', 'Plan', 'Real'],
      ['January', '100', '97.5'],
      ['February', '100', '101'],
      ['March', '100', '99'],
    ],
  },
]

/** The table as a reader writes it. */
export function markdownOf(table: Content['table']): string {
  const line = (row: readonly string[]) => `| ${row.join(' | ')} |`
  const [head = [], ...rest] = table
  return [line(head), `|${' --- |'.repeat(head.length)}`, ...rest.map(line)].join('\n')
}
