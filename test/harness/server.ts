// Requests and answers for the tests of the HTTP server.
import type { RequestOptions, TestApp, TestResponse } from './test-app.ts'

export const nobody = '00000000-0000-4000-8000-000000000000'
export const uuidV4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
export const problemJson = { accept: 'application/problem+json' }
export const mebibyte = 1_048_576

/** The parts that must be equal in two identical responses. */
export function comparable({ status, headers, text }: TestResponse): Pick<TestResponse, 'status' | 'headers' | 'text'> {
  return { status, text, headers: { ...headers, 'x-request-id': '', date: '' } }
}

export function serverRequests(app: () => TestApp) {
  const memberPath = (organizationId = app().sample.organizationId, userId = app().sample.userId) =>
    `/v1/organizations/${organizationId}/members/${userId}`
  const endpointPath = (serviceId = app().sample.serviceId) =>
    `/v1/organizations/${app().sample.organizationId}/services/${serviceId}/privateEndpoint`
  /** Changes nothing: the member already has this role. */
  const patch = (options: RequestOptions = {}) =>
    app().request('PATCH', memberPath(), {
      ...(options.text === undefined ? { body: { role: 'developer' } } : {}),
      ...options,
    })

  return { memberPath, endpointPath, patch }
}
