// Texts of a search that were sent to the address of the page: they come back from there, maybe after more was typed.
export class SentSearches {
  #sent: string[] = []

  add(text: string): void {
    this.#sent.push(text)
  }

  /** Whether the address has what was sent, and not what a link or a button put there. Of two in a row only the later one may arrive. */
  comesBack(text: string): boolean {
    const at = this.#sent.lastIndexOf(text)
    if (at < 0) return false
    this.#sent = this.#sent.slice(at + 1)
    return true
  }
}
