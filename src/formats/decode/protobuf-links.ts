// Resolves the type names of Protobuf fields. protobufjs would search all messages for each name; by the rules of Protobuf, the
// innermost scope that has the first part of a name decides.
import protobuf from 'protobufjs'
import { SchemaFault } from './schema-fault.ts'

/** Throws a SchemaFault. */
export function linkTypes(root: protobuf.Root): void {
  const visit = (scope: protobuf.NamespaceBase): void => {
    if (scope instanceof protobuf.Type) for (const field of scope.fieldsArray) link(field, scope)
    for (const nested of scope.nestedArray) if (nested instanceof protobuf.Namespace) visit(nested)
  }
  visit(root)
  // Fields are already resolved: this resolves only features.
  root.resolveAll()
}

function link(field: protobuf.Field, scope: protobuf.Type): void {
  // The name of a scalar type has priority over messages of that name.
  if (!Object.hasOwn(protobuf.types.basic, field.type)) {
    field.resolvedType = findType(field.type.split('.'), scope) ?? unknownType()
  }
  field.resolved = true
}

function unknownType(): never {
  throw new SchemaFault('uses a type that neither it nor what it refers to defines')
}

function findType(path: string[], scope: protobuf.Type): protobuf.Type | protobuf.Enum | undefined {
  const isAbsolute = path[0] === ''
  if (isAbsolute) return typeAt(scope.root, path.slice(1))
  for (
    let around: protobuf.NamespaceBase | null = scope;
    around;
    around = around.parent as protobuf.NamespaceBase | null
  ) {
    const first = nestedIn(around, path[0])
    if (path.length === 1 ? isType(first) : first instanceof protobuf.Namespace) return typeAt(around, path)
  }
  return undefined
}

function typeAt(scope: protobuf.NamespaceBase, path: string[]): protobuf.Type | protobuf.Enum | undefined {
  let found: unknown = scope
  for (const name of path) found = nestedIn(found, name)
  return isType(found) ? found : undefined
}

/** Ignores fields, which may have the name of a type. */
function nestedIn(scope: unknown, name: string | undefined): unknown {
  if (!(scope instanceof protobuf.Namespace) || name === undefined) return undefined
  const { nested } = scope
  return nested && Object.hasOwn(nested, name) ? nested[name] : undefined
}

const isType = (value: unknown): value is protobuf.Type | protobuf.Enum =>
  value instanceof protobuf.Type || value instanceof protobuf.Enum
