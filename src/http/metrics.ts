// Metrics of the HTTP server and the process, in Prometheus text format.
import type { CommitGroupMetrics } from '../database/group-commit.ts'
import { Counter, exposition, Gauge, Histogram } from '../lib/metrics.ts'

export class ServerMetrics {
  readonly #requests = new Counter('penstock_http_requests_total', 'Requests answered, by operation and status.')
  readonly #durations = new Histogram(
    'penstock_http_request_duration_seconds',
    'Time from the first byte of a request to its answer.',
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  )
  readonly #groups = new Histogram(
    'penstock_database_commit_writes',
    'Writes made durable by one commit.',
    [1, 2, 4, 8, 16, 32, 64, 128, 256],
  )
  readonly #databaseTime = new Counter(
    'penstock_database_seconds_total',
    'Time spent in write transactions: running them, and committing them.',
  )
  readonly #throttled = new Counter('penstock_http_failed_authentications_total', 'Requests with wrong credentials.')
  /** Set by the HTTP server. */
  countUnderWay: () => number = () => 0
  readonly #underWay = new Gauge(
    'penstock_http_requests_under_way',
    'Requests that are being done, also of clients that have hung up.',
    () => this.countUnderWay(),
  )
  readonly #memory = new Gauge('process_resident_memory_bytes', 'Resident memory size in bytes.', () =>
    process.memoryUsage.rss(),
  )
  readonly #cpu = new Gauge('process_cpu_seconds_total', 'User and system CPU time spent in seconds.', () => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1e6
  })

  observeRequest(operation: string, status: number, seconds: number): void {
    this.#requests.increment({ operation, status })
    this.#durations.observe({ operation }, seconds)
  }

  observeGroup({ writes, runMs, commitMs }: CommitGroupMetrics): void {
    this.#groups.observe({}, writes)
    this.#databaseTime.increment({ step: 'run' }, runMs / 1000)
    this.#databaseTime.increment({ step: 'commit' }, commitMs / 1000)
  }

  failedAuthentication(): void {
    this.#throttled.increment({})
  }

  text(): string {
    return exposition([
      this.#requests,
      this.#durations,
      this.#groups,
      this.#databaseTime,
      this.#throttled,
      this.#underWay,
      this.#memory,
      this.#cpu,
    ])
  }
}
