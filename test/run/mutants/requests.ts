// Defects of HTTP and JSON: malformed requests, bounded work, bounded answers.
import type { Mutant } from './mutant.ts'

export const requestMutants: Mutant[] = [
  {
    name: 'quote-looks-again-and-again',
    file: 'src/lib/shape-rules.ts',
    find: "  if (text.includes('PRIVATE KEY')) return '***'\n",
    replace: "  if (text.includes('PRIVATE KEY') || /\\/\\/.*@/s.test(text)) return '***'\n",
    tests: ['test/suites/long-texts.test.ts'],
  },
  {
    name: 'answer-before-a-request',
    file: 'src/http/client-error.ts',
    find: 'return socket.bytesRead > 0',
    replace: 'return true',
    tests: ['src/http/client-error.test.ts'],
  },
  {
    name: 'answer-for-another-request',
    file: 'src/http/client-error.ts',
    find: 'return response.writableFinished',
    replace: 'return true',
    tests: ['src/http/client-error.test.ts'],
  },
  {
    name: 'any-version-of-http',
    file: 'src/http/request.ts',
    find: "raw.httpVersion !== '1.1' && raw.httpVersion !== '1.0'",
    replace: "raw.httpVersion === '3.0'",
    tests: ['src/http/client-error.test.ts'],
  },
  {
    name: 'pages-of-any-size',
    file: 'src/lib/page.ts',
    find: 'const mostBytes = 4 * 1_048_576',
    replace: 'const mostBytes = 4_000 * 1_048_576',
    tests: ['test/suites/large-pages.test.ts'],
  },
  {
    name: 'requests-without-number',
    file: 'src/http/under-way.ts',
    find: 'if (this.#count >= this.#most) {',
    replace: 'if (this.#count < 0) {',
    tests: ['src/http/under-way.test.ts'],
  },
  {
    name: 'work-for-nobody',
    file: 'src/http/under-way.ts',
    find: '      await this.#begun.turn()\n',
    replace: '',
    tests: ['src/http/under-way.test.ts'],
  },
  {
    name: 'refused-and-listened-to',
    file: 'src/http/under-way.ts',
    find: "    socket.on('resume', pauseAgain)\n",
    replace: '',
    tests: ['src/http/under-way.test.ts'],
  },
  {
    name: 'last-key-wins',
    file: 'src/lib/strict-json.ts',
    find: 'if (Object.hasOwn(object, key)) throw',
    replace: "if (key === '') throw",
    tests: ['test/suites/input.test.ts'],
  },
  {
    name: 'ignore-unknown-fields',
    file: 'src/lib/shape.ts',
    find: '} else if (additionalProperties === false && echo === undefined) {',
    replace: '} else if (additionalProperties === undefined && echo === undefined) {',
    tests: ['test/suites/input.test.ts', 'test/models/model.test.ts'],
  },
  {
    name: 'series-for-each-request',
    file: 'src/lib/metrics.ts',
    find: 'const key = seriesKey(labels)\n    const series',
    replace: 'const key = seriesKey({ ...labels, at: performance.now() })\n    const series',
    tests: ['test/heavy/timed/soak.test.ts'],
  },
]
