import '@mantine/core/styles.css'
import './console.css'
import { localStorageColorSchemeManager, MantineProvider } from '@mantine/core'
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { PenstockError } from '../src/client/error.ts'
import { watchSession } from './api/session-watch.ts'
import { DoneNotices } from './components/done-notices.tsx'
import { Tips } from './components/tip.tsx'
import { makeRouter } from './routes.tsx'
import { theme } from './theme.ts'

const styleNonce = document.querySelector<HTMLMetaElement>('meta[name="style-nonce"]')!.content

// The scroll lock of dialogs reads the nonce of its style elements from here.
Object.assign(globalThis, { __webpack_nonce__: styleNonce })

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      // The transport has already retried.
      retry: false,
      throwOnError: (_, query) => query.state.data === undefined,
    },
  },
})
const router = makeRouter(queries)
watchSession(queries, router)

createRoot(document.getElementById('root')!, {
  // API errors are shown by the page; everything else is a defect.
  onCaughtError: (error) => {
    if (!(error instanceof PenstockError)) console.error(error)
  },
}).render(
  <StrictMode>
    <MantineProvider
      theme={theme}
      defaultColorScheme="auto"
      colorSchemeManager={localStorageColorSchemeManager({ key: 'penstock-color-scheme' })}
      getStyleNonce={() => styleNonce}
    >
      <QueryClientProvider client={queries}>
        <RouterProvider router={router} />
        <DoneNotices />
        <Tips />
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
)
