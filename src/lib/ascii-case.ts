// Lower case for A to Z only. `toLowerCase` maps letters of other scripts onto ASCII (U+212A KELVIN SIGN becomes `k`), so that
// two different email addresses or host names would compare as equal.
export function asciiLowerCase(text: string): string {
  return text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase())
}
