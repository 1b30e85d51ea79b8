/** Penstock cannot start; the message is for the person at the terminal. */
export class StartError extends Error {
  constructor(sentence: string, options?: ErrorOptions) {
    super(sentence, options)
    this.name = 'StartError'
  }
}

/** Another process uses the data; it can be asked instead, or stopped. */
export class DataInUseError extends StartError {}

/** There is no data yet, so none can be lost. */
export class NotSetUpError extends StartError {
  constructor(found = 'This Penstock has not been set up yet: it has no data.') {
    super(`${found} Run "penstock init", or correct PENSTOCK_DATA or DATABASE_URL, which say where the data is.`)
  }
}
