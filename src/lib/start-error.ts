/** Why Penstock cannot start, in one sentence for the person at the terminal. */
export class StartError extends Error {
  constructor(sentence: string, options?: ErrorOptions) {
    super(sentence, options)
    this.name = 'StartError'
  }
}

/** Another process has the data, and may be asked instead or stopped. */
export class DataInUseError extends StartError {}

/** There is no data, which nothing can have been lost of. */
export class NotSetUpError extends StartError {
  constructor(found = 'This Penstock has not been set up yet: it has no data.') {
    super(`${found} Run "penstock init", or correct PENSTOCK_DATA or DATABASE_URL, which say where the data is.`)
  }
}
