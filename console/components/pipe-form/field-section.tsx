// Sections of the pipe form, rendered from the list of fields.
import { Input, SimpleGrid, Stack } from '@mantine/core'
import { type ReactNode, useId } from 'react'
import { More } from '../more.tsx'
import { kinds } from '../pipe-fields.ts'
import { Section } from '../section.tsx'
import { FieldInput, type FormProps } from './field-input.tsx'
import { errorOf, pointersBelow } from './form-error.ts'
import { type FormSection, isShown, type Row, type SecretRow } from './form-field.ts'
import { fieldsOfRows, rowsOf } from './form-fields.ts'
import { draftOf, neededSecrets, presentValue, textOf } from './pipe-draft.ts'
import { fixedParts, sourceSections } from './source-fields.ts'

/** The source: of a new pipe in sections, of an existing one the fields that can be changed. */
export function SourceSections(form: FormProps) {
  const { kind, pipe } = form.draft
  if (!kind) return null
  const sections = sourceSections[kind]
  if (!pipe) return sections.map((section) => <FieldSection key={section.title} section={section} {...form} />)
  return (
    <Section
      title={`Source: ${kinds[kind].label}`}
      about={`${fixedParts[kind]} are chosen when a pipe is created and cannot be changed.`}
    >
      <Rows rows={sections.flatMap(rowsOf)} form={form} />
    </Section>
  )
}

export function FieldSection({ section, ...form }: FormProps & { section: FormSection }) {
  const { title, about, rows, more } = section
  if (!fieldsOfRows(rowsOf(section)).some((field) => isShown(field, form.draft))) return null
  const rareFields = fieldsOfRows(more?.rows ?? []).filter((field) => isShown(field, form.draft))
  return (
    <Section title={title} about={about}>
      <Rows rows={rows} form={form} />
      {more && (
        <More
          label={more.label}
          hasError={rareFields.some(({ pointer, alsoAt = [] }) =>
            [pointer, ...alsoAt].some((at) => pointersBelow(form.error, at).length > 0),
          )}
        >
          <Rows rows={more.rows} form={form} />
        </More>
      )}
    </Section>
  )
}

function Rows({ rows, form }: { rows: Row[]; form: FormProps }) {
  return rows.map((row) => {
    const fields = fieldsOfRows([row]).filter((field) => isShown(field, form.draft))
    const key = fieldsOfRows([row])
      .map(({ pointer, input }) => `${pointer} ${input}`)
      .join()
    if (fields.length === 0) return null
    if ('group' in row) return <Secrets key={key} row={{ ...row, fields }} form={form} />
    const inputs = fields.map((field) => <FieldInput key={field.pointer} field={field} form={form} />)
    return Array.isArray(row) ? (
      <SimpleGrid key={key} cols={{ base: 1, sm: 2 }}>
        {inputs}
      </SimpleGrid>
    ) : (
      inputs
    )
  })
}

/** Secrets are never shown: those of an existing pipe can be replaced. */
function Secrets({ row: { group, fields }, form }: { row: SecretRow; form: FormProps }) {
  const { draft, error } = form
  const [first] = fields
  // An error of the group is shown at its first empty field, otherwise at the last one, which is the secret. With a connection
  // string it is shown there.
  const valueAt = (pointer: string): string => textOf({ ...draft, pipe: undefined }, pointer)
  const withError =
    fields.find(({ pointer }) => pointer.endsWith('/connectionString') && valueAt(pointer) !== '') ??
    fields.find(({ pointer }) => valueAt(pointer) === '') ??
    fields.at(-1)
  const isInUse = draft.pipe && neededSecrets(draftOf(draft.pipe))?.names.join() === neededSecrets(draft)?.names.join()
  const input = (field: (typeof fields)[number]): ReactNode => (
    <FieldInput
      key={field.pointer}
      field={field}
      form={form}
      groupError={field === withError ? errorOf(error, group) : undefined}
      keptText={isInUse ? 'Empty: unchanged' : undefined}
    />
  )
  const isWide = ({ pointer }: (typeof fields)[number]): boolean =>
    /\/(?:certificate|privateKey|connectionString)$/.test(pointer)
  const narrow = fields.filter((field) => !isWide(field))
  const inputs = (
    <>
      {fields.filter(isWide).map(input)}
      {narrow.length > 0 && <SimpleGrid cols={{ base: 1, sm: 2 }}>{narrow.map(input)}</SimpleGrid>}
    </>
  )
  if (!draft.pipe) return inputs
  const present = first?.pointer === group ? presentValue(draft, group) : undefined
  return (
    <LabelledGroup
      label="Credentials"
      about={
        <>
          {isInUse
            ? 'They are stored sealed and never shown. Fill in only the ones to replace.'
            : 'Credentials of the chosen authentication. Empty fields keep their stored value, if any.'}
          {typeof present === 'string' && ` Present: ${present}`}
        </>
      }
    >
      {inputs}
    </LabelledGroup>
  )
}

/** Inputs with a label of their own. */
export function LabelledGroup({ label, about, children }: { label: string; about: ReactNode; children: ReactNode }) {
  const id = useId()
  return (
    <Stack gap="sm" role="group" aria-labelledby={id}>
      <div>
        <Input.Label labelElement="div" id={id}>
          {label}
        </Input.Label>
        <Input.Description component="div">{about}</Input.Description>
      </div>
      {children}
    </Stack>
  )
}
