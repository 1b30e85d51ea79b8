// Meanings of ClickHouse error codes, in our own words.

/** Completes "the engine at host:port …". */
export type Meaning = string

/** Caused by the rows when the statement sends rows. */
export const codesOfRows = [36, 48]

export const refusedSignIn: Meaning = 'refused the user name or the password; check the credentials of the service'
const missingRight: Meaning =
  'does not let its user do this; grant the user the right to create, alter, select from and insert into the table'
const noTable: Meaning = 'has no such table; create it, or let Penstock manage it'
const noDatabase: Meaning = 'has no such database; create it'
const noColumn: Meaning =
  'does not find a column that the pipe names; compare the columns of the pipe with those of the table'
const notUnderstood: Meaning =
  'does not support a statement of the pipe; check the types, the keys and the engine of the table against its version'
const notAllowed: Meaning = 'does not allow what the pipe needs; check its settings and the profile of the user'

/** Only the user can fix these. */
export const userCodes = new Map<number, Meaning>([
  ...meaning(refusedSignIn, '192 193 194 195 516 720 763 767'),
  ...meaning(missingRight, '164 291 497 511 512 774'),
  ...meaning(noTable, '60 218'),
  ...meaning(noDatabase, '81'),
  ...meaning(noColumn, '8 10 16 20 47 352'),
  ...meaning(
    notUnderstood,
    '15 34 35 36 37 42 43 44 46 48 50 51 52 55 56 57 62 63 73 78 80 85 119 122 170 370 377 378 386 432 446 450 455 477 524 549',
  ),
  ...meaning(notAllowed, '115 158 161 165 166 167 168 229 290 307 344 392 396 401 452 471 472 620 724 725 759 764'),
])

const busy: Meaning = 'is too busy'
const noMemory: Meaning = 'has too little memory for this right now'
const noSpace: Meaning = 'has no space left on its disk'
const tooManyParts: Meaning = 'has too many parts in the table and waits for its merges'
const readOnlyTable: Meaning = 'has made the table read-only for now'
const noReplicas: Meaning = 'does not reach its other replicas or its keeper'
export const brokenOff: Meaning = 'canceled the operation'

/** Try again later. */
export const passingCodes = new Map<number, Meaning>([
  ...meaning(busy, '159 160 201 202 203 364 373 384 439 473 517 574 692 700 718 738 745 749 762 776'),
  ...meaning(noMemory, '173 241 777 778'),
  ...meaning(noSpace, '243'),
  ...meaning(tooManyParts, '252'),
  ...meaning(readOnlyTable, '242'),
  ...meaning(
    noReplicas,
    '95 96 198 209 210 225 244 254 255 265 279 285 286 289 297 319 369 410 415 416 519 529 568 571 659 904 999',
  ),
  ...meaning(
    brokenOff,
    '23 24 74 75 76 77 87 88 107 172 204 216 236 272 273 274 275 294 341 354 394 411 425 499 500 586 649 660 667 668 677 693 695 696 707 710 722 733 734 735 780 900 901 903 905',
  ),
])

/** Why ClickHouse rejects rows, or a materialized view that they go through does. */
const rowCodes = new Map<number, Meaning>([
  ...meaning('cannot parse a value', '6 26 27 38 41 72 117 130 376 441 467 675 676 691'),
  ...meaning('cannot convert a value to the type of its column', '53 70'),
  ...meaning('rejects NULL in a column that is not Nullable', '349'),
  ...meaning('finds a value out of the range of its type or function', '69 153 321 407'),
  ...meaning('has a limit on the size or the depth of a value', '128 131 306'),
  ...meaning('runs throwIf, which fails on purpose', '395'),
  ...meaning('finds a constraint violated', '469'),
])

function meaning(sentence: Meaning, codes: string): [number, Meaning][] {
  return codes.split(' ').map((code) => [Number(code), sentence])
}

export const refusedStatement: Meaning = 'refused the statement; check the table and the rights of the user'

/** For an error of a statement without rows. */
export function meaningOf(code: number): Meaning {
  return passingCodes.get(code) ?? userCodes.get(code) ?? refusedStatement
}

/** For an error of a statement with rows; undefined when only the code is known. */
export function meaningOfRows(code: number): Meaning | undefined {
  return rowCodes.get(code) ?? passingCodes.get(code) ?? userCodes.get(code)
}
