// Cookies of ours: for this host alone, and never for scripts.

export class OwnCookie {
  readonly #name: string
  readonly #attributes: string

  /** `Strict`: only with requests that begin at pages of ours; `Lax`: also when another site leads here. */
  constructor(name: string, publicUrl: string, sameSite: 'Strict' | 'Lax') {
    const isSecure = publicUrl.startsWith('https:')
    // Browsers refuse the prefix, which keeps other hosts from setting the cookie, without TLS.
    this.#name = isSecure ? `__Host-${name}` : name
    this.#attributes = `; Path=/; HttpOnly; SameSite=${sameSite}${isSecure ? '; Secure' : ''}`
  }

  /** Undefined also when there are several: somebody else has set one of them. */
  read(header: string | undefined): string | undefined {
    if (!header) return undefined
    const values: string[] = []
    for (const pair of header.split(';')) {
      const equals = pair.indexOf('=')
      if (equals > 0 && pair.slice(0, equals).trim() === this.#name) values.push(pair.slice(equals + 1).trim())
    }
    return values.length === 1 ? values[0] : undefined
  }

  /** For `Set-Cookie`; null takes the cookie away. */
  set(value: string | null, lifetimeSeconds: number): string {
    return `${this.#name}=${value ?? ''}; Max-Age=${value === null ? 0 : lifetimeSeconds}${this.#attributes}`
  }
}
