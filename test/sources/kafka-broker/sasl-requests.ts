// SaslHandshake and SaslAuthenticate. A failed login gets an error message, then the connection closes.
import type { Api, Exchange, Outcome } from './api.ts'
import { errorCode } from './error-codes.ts'
import { LoginRefused, mechanisms } from './sasl.ts'

export const saslHandshake: Api = {
  key: 17,
  firstVersion: 0,
  lastVersion: 1,
  isOpen: true,
  answer({ version, request, response, client }) {
    const mechanism = request.string()

    const { sasl } = client
    if (!sasl || client.user || sasl.exchange) return refuseHandshake(response, errorCode.ILLEGAL_SASL_STATE, [])
    const make = Object.hasOwn(mechanisms, mechanism) ? mechanisms[mechanism] : undefined
    if (!make) return refuseHandshake(response, errorCode.UNSUPPORTED_SASL_MECHANISM, Object.keys(mechanisms))
    sasl.exchange = make(sasl.settings)
    sasl.isBare = version === 0
    response.int16(errorCode.NONE).array(Object.keys(mechanisms), (name) => response.string(name))
    return undefined
  },
}

function refuseHandshake(response: Exchange['response'], error: number, offered: string[]): Outcome {
  response.int16(error).array(offered, (name) => response.string(name))
  // Listeners without SASL keep the connection: there, the handshake is an ordinary request.
  return error === errorCode.UNSUPPORTED_SASL_MECHANISM ? 'response, then close' : undefined
}

export const saslAuthenticate: Api = {
  key: 36,
  firstVersion: 0,
  lastVersion: 2,
  flexibleFrom: 2,
  isOpen: true,
  async answer({ version, request, response, client }) {
    const message = request.bytes()
    request.tags()

    const write = (error: number, text: string | null, answer: Buffer) => {
      response.int16(error).string(text).bytes(answer)
      // The session lifetime is unlimited.
      if (version >= 1) response.int64(0)
      response.tags()
    }
    const exchange = client.user ? undefined : client.sasl?.exchange
    if (!exchange) {
      write(errorCode.ILLEGAL_SASL_STATE, 'no login is under way', Buffer.alloc(0))
      return undefined
    }
    try {
      const answer = await exchange(message)
      client.user = answer.user
      write(errorCode.NONE, null, answer.message)
      return undefined
    } catch (error) {
      if (!(error instanceof LoginRefused)) throw error
      write(errorCode.SASL_AUTHENTICATION_FAILED, 'the login is refused', Buffer.alloc(0))
      return 'response, then close'
    }
  },
}
