// Changes of the tables of a PostgreSQL source.

export type Json = Record<string, unknown>

export const orders = {
  sourceSchemaName: 'public',
  sourceTable: 'orders',
  targetTable: 'shop_orders',
  tableEngine: 'ReplacingMergeTree',
  useCustomSortingKey: true,
  sortingKeys: ['order_id'],
  excludedColumns: ['internal_note'],
}
export const customers = {
  sourceSchemaName: 'public',
  sourceTable: 'customers',
  targetTable: 'shop_customers',
  tableEngine: 'MergeTree',
  useCustomSortingKey: false,
  sortingKeys: [],
  excludedColumns: [],
}
export const items = { sourceSchemaName: 'public', sourceTable: 'items', targetTable: 'shop_items' }
const defaults = {
  tableEngine: 'ReplacingMergeTree',
  useCustomSortingKey: false,
  sortingKeys: [],
  excludedColumns: [],
}
export const keyOf = ({ sourceSchemaName, sourceTable }: typeof items) => ({ sourceSchemaName, sourceTable })

interface Change {
  title: string
  add?: Json[]
  remove?: Json[]
  /** The tables after the update of a pipe with orders and customers. */
  after: Json[]
}

export const changes: Change[] = [
  {
    title: 'adds a table with the defaults',
    add: [items],
    after: [orders, customers, { ...items, ...defaults }],
  },
  {
    title: 'adds a table with everything said',
    add: [
      { ...items, tableEngine: 'Null', useCustomSortingKey: true, sortingKeys: ['b', 'a'], excludedColumns: ['c'] },
    ],
    after: [
      orders,
      customers,
      { ...items, tableEngine: 'Null', useCustomSortingKey: true, sortingKeys: ['b', 'a'], excludedColumns: ['c'] },
    ],
  },
  {
    title: 'adds a table with defaults said as they are',
    add: [{ ...items, ...defaults }],
    after: [orders, customers, { ...items, ...defaults }],
  },
  {
    title: 'knows tables of the same name in other schemas apart',
    add: [{ ...items, sourceSchemaName: 'archive', sourceTable: 'orders' }],
    after: [orders, customers, { ...items, ...defaults, sourceSchemaName: 'archive', sourceTable: 'orders' }],
  },
  {
    title: 'knows names apart that look the same when joined',
    add: [
      { sourceSchemaName: 'a.b', sourceTable: 'c', targetTable: 'one' },
      { sourceSchemaName: 'a', sourceTable: 'b.c', targetTable: 'two' },
    ],
    after: [
      orders,
      customers,
      { sourceSchemaName: 'a.b', sourceTable: 'c', targetTable: 'one', ...defaults },
      { sourceSchemaName: 'a', sourceTable: 'b.c', targetTable: 'two', ...defaults },
    ],
  },
  { title: 'removes a table by its key', remove: [keyOf(orders)], after: [customers] },
  {
    title: 'removes a table by its key and target',
    remove: [{ ...keyOf(customers), targetTable: 'shop_customers' }],
    after: [orders],
  },
  {
    title: 'replaces a mapping in one request',
    remove: [keyOf(orders)],
    add: [{ ...keyOf(orders), targetTable: 'orders_2' }],
    after: [customers, { ...keyOf(orders), targetTable: 'orders_2', ...defaults }],
  },
  {
    title: 'replaces the options of a mapping that keeps its target',
    remove: [keyOf(orders)],
    add: [{ ...keyOf(orders), targetTable: 'shop_orders', excludedColumns: ['customer'] }],
    after: [customers, { ...keyOf(orders), targetTable: 'shop_orders', ...defaults, excludedColumns: ['customer'] }],
  },
  {
    title: 'gives a target that is free again to another table',
    remove: [keyOf(orders)],
    add: [{ ...items, targetTable: 'shop_orders' }],
    after: [customers, { ...items, ...defaults, targetTable: 'shop_orders' }],
  },
  {
    title: 'replaces all tables, swapping their targets',
    remove: [keyOf(orders), keyOf(customers)],
    add: [
      { ...keyOf(orders), targetTable: 'shop_customers' },
      { ...keyOf(customers), targetTable: 'shop_orders' },
    ],
    after: [
      { ...keyOf(orders), targetTable: 'shop_customers', ...defaults },
      { ...keyOf(customers), targetTable: 'shop_orders', ...defaults },
    ],
  },
]

export const refused: { title: string; add?: unknown; remove?: unknown; at: string; says: RegExp }[] = [
  { title: 'a table that is there', add: [orders], at: 'ToAdd/0', says: /which the pipe has already/ },
  {
    title: 'a table that is there, to another target',
    add: [{ ...keyOf(orders), targetTable: 'other' }],
    at: 'ToAdd/0',
    says: /public\.orders, which the pipe has already/,
  },
  {
    title: 'the same table twice',
    add: [items, { ...items, targetTable: 'other' }],
    at: 'ToAdd/1',
    says: /public\.items a second time/,
  },
  {
    title: 'a target that is taken',
    add: [{ ...items, targetTable: 'shop_orders' }],
    at: 'ToAdd/0/targetTable',
    says: /is "shop_orders", where public\.orders goes already/,
  },
  {
    title: 'the same target twice',
    add: [items, { ...items, sourceTable: 'other' }],
    at: 'ToAdd/1/targetTable',
    says: /is "shop_items", where public\.items goes already/,
  },
  {
    title: 'an unknown table to remove',
    remove: [keyOf(items)],
    at: 'ToRemove/0',
    says: /which the pipe does not have/,
  },
  {
    title: 'an unknown schema to remove',
    remove: [{ ...keyOf(orders), sourceSchemaName: 'Public' }],
    at: 'ToRemove/0',
    says: /Public\.orders, which the pipe does not have/,
  },
  {
    title: 'the same table to remove twice',
    remove: [keyOf(orders), keyOf(orders)],
    at: 'ToRemove/1',
    says: /which the pipe does not have/,
  },
  {
    title: 'a table to remove that is only being added',
    remove: [keyOf(items)],
    add: [items],
    at: 'ToRemove/0',
    says: /which the pipe does not have/,
  },
  {
    title: 'a removal with another target',
    remove: [{ ...keyOf(orders), targetTable: 'shop_customers' }],
    at: 'ToRemove/0/targetTable',
    says: /"shop_customers", but public\.orders goes to "shop_orders"/,
  },
  {
    title: 'all tables removed',
    remove: [keyOf(orders), keyOf(customers)],
    at: 'ToRemove',
    says: /must leave the pipe at least one table/,
  },
  ...['sourceSchemaName', 'sourceTable', 'targetTable'].flatMap((name) => [
    {
      title: `an addition without ${name}`,
      add: [{ ...items, [name]: undefined }],
      at: `ToAdd/0/${name}`,
      says: /is required/,
    },
    {
      title: `an addition with an empty ${name}`,
      add: [{ ...items, [name]: '' }],
      at: `ToAdd/0/${name}`,
      says: /1 to/,
    },
    {
      title: `an addition without a value for ${name}`,
      add: [{ ...items, [name]: null }],
      at: `ToAdd/0/${name}`,
      says: /must be a string/,
    },
  ]),
  ...['sourceSchemaName', 'sourceTable'].map((name) => ({
    title: `a removal without ${name}`,
    remove: [{ ...keyOf(orders), [name]: undefined }],
    at: `ToRemove/0/${name}`,
    says: /is required/,
  })),
  {
    title: 'an unknown engine',
    add: [{ ...items, tableEngine: 'SummingMergeTree' }],
    at: 'ToAdd/0/tableEngine',
    says: /must be one of MergeTree, ReplacingMergeTree, Null/,
  },
  { title: 'an unknown option', add: [{ ...items, colour: 1 }], at: 'ToAdd/0/colour', says: /is not a known field/ },
  {
    title: 'an option of a removal',
    remove: [{ ...keyOf(orders), tableEngine: 'Null' }],
    at: 'ToRemove/0/tableEngine',
    says: /is not a known field/,
  },
  {
    title: 'a custom sorting key without columns',
    add: [{ ...items, useCustomSortingKey: true }],
    at: 'ToAdd/0/sortingKeys',
    says: /sortingKeys is required, because useCustomSortingKey is true/,
  },
  {
    title: 'a custom sorting key with no columns',
    add: [{ ...items, useCustomSortingKey: true, sortingKeys: [] }],
    at: 'ToAdd/0/sortingKeys',
    says: /sortingKeys is required/,
  },
  {
    title: 'a custom sorting key that is no boolean',
    add: [{ ...items, useCustomSortingKey: 'yes', sortingKeys: ['a'] }],
    at: 'ToAdd/0/useCustomSortingKey',
    says: /must be a boolean/,
  },
  {
    title: 'a repeated sorting key',
    add: [{ ...items, useCustomSortingKey: true, sortingKeys: ['a', 'b', 'a'] }],
    at: 'ToAdd/0/sortingKeys',
    says: /must not repeat "a"/,
  },
  {
    title: 'a repeated excluded column',
    add: [{ ...items, excludedColumns: ['a', 'a'] }],
    at: 'ToAdd/0/excludedColumns',
    says: /must not repeat "a"/,
  },
  {
    title: 'a sorting key that is excluded',
    add: [{ ...items, useCustomSortingKey: true, sortingKeys: ['a', 'b'], excludedColumns: ['c', 'b'] }],
    at: 'ToAdd/0/excludedColumns',
    says: /has columns of the sorting key: b/,
  },
  {
    title: 'an empty column name',
    add: [{ ...items, excludedColumns: ['a', ''] }],
    at: 'ToAdd/0/excludedColumns/1',
    says: /1 to 255 characters/,
  },
  { title: 'an addition that is no list', add: items, at: 'ToAdd', says: /must be a list/ },
  { title: 'an addition that is null', add: null, at: 'ToAdd', says: /must be a list/ },
  { title: 'a removal that is no list', remove: 'public.orders', at: 'ToRemove', says: /must be a list/ },
  {
    title: 'one bad table among good ones',
    add: [items, { ...items, sourceTable: 'x' }],
    at: 'ToAdd/1/targetTable',
    says: /goes already/,
  },
]
