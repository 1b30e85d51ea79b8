import { Page } from '../components/page.tsx'

export function EditPipePage() {
  return <Page title="EditPipePage">…</Page>
}
