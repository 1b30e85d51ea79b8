import { Page } from '../components/page.tsx'

export function NewPipePage() {
  return <Page title="NewPipePage">…</Page>
}
