import { useEffect, useRef, useState } from 'react'
import { SentSearches } from './sent-searches.ts'

/** The text of a search field whose search stands in the address of the page. `send` puts it there. */
export function useSearchText(search: string, send: (text: string) => void) {
  const [typed, setTyped] = useState(search)
  const [sent] = useState(() => new SentSearches())
  const shown = useRef(search)
  useEffect(() => {
    if (shown.current === search) return
    shown.current = search
    if (!sent.comesBack(search)) setTyped(search)
  }, [search, sent])
  return {
    typed,
    setTyped,
    send: (text: string) => {
      // What stands there already does not come back.
      if (text !== shown.current) sent.add(text)
      send(text)
    },
  }
}
