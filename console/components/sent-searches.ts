// Search texts sent to the URL of the page, from which they return, possibly after more was typed.
export class SentSearches {
  #sent: string[] = []

  add(text: string): void {
    this.#sent.push(text)
  }

  /** Whether the URL has a sent text, rather than one set by a link or a button. Of two consecutive texts only the later may arrive. */
  comesBack(text: string): boolean {
    const at = this.#sent.lastIndexOf(text)
    if (at < 0) return false
    this.#sent = this.#sent.slice(at + 1)
    return true
  }
}
