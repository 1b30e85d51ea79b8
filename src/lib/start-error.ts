/** Why Penstock cannot start, in one sentence for the person at the terminal. */
export class StartError extends Error {
  constructor(sentence: string, options?: ErrorOptions) {
    super(sentence, options)
    this.name = 'StartError'
  }
}

/** Another process has the data, and may be asked instead or stopped. */
export class DataInUseError extends StartError {}
