// Penstock's cookies: for this host only, not readable by scripts.

export class OwnCookie {
  readonly #name: string
  readonly #attributes: string

  /** `Strict`: sent only with requests from our own pages; `Lax`: also when another site links or redirects here. */
  constructor(name: string, publicUrl: string, sameSite: 'Strict' | 'Lax') {
    const isSecure = publicUrl.startsWith('https:')
    // The prefix keeps other hosts from setting the cookie; browsers accept it only with TLS.
    this.#name = isSecure ? `__Host-${name}` : name
    this.#attributes = `; Path=/; HttpOnly; SameSite=${sameSite}${isSecure ? '; Secure' : ''}`
  }

  /** Undefined also when there are several: another site has set one of them. */
  read(header: string | undefined): string | undefined {
    if (!header) return undefined
    const values: string[] = []
    for (const pair of header.split(';')) {
      const equals = pair.indexOf('=')
      if (equals > 0 && pair.slice(0, equals).trim() === this.#name) values.push(pair.slice(equals + 1).trim())
    }
    return values.length === 1 ? values[0] : undefined
  }

  /** Value for `Set-Cookie`; null deletes the cookie. */
  set(value: string | null, lifetimeSeconds: number): string {
    return `${this.#name}=${value ?? ''}; Max-Age=${value === null ? 0 : lifetimeSeconds}${this.#attributes}`
  }
}
