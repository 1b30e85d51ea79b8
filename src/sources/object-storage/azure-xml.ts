// Text of one XML element in an answer of Azure, in linear time: answers are untrusted.

/** The text of the first such element that has one to `longest` characters and no element inside. */
export function elementText(xml: string, element: string, longest: number): string | undefined {
  const opening = `<${element}>`
  const closing = `</${element}>`
  for (let at = xml.indexOf(opening); at !== -1; at = xml.indexOf(opening, at)) {
    at += opening.length
    const end = xml.indexOf('<', at)
    if (end === -1) return undefined
    if (end > at && end - at <= longest && xml.startsWith(closing, end)) return xml.slice(at, end)
    at = end
  }
  return undefined
}
