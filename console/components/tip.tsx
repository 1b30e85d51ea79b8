// One tooltip for all elements with `data-tip`, because a component per row would be slow.
import { useSyncExternalStore } from 'react'

interface Tip {
  text: string
  left: number
  /** Position of the element: the tip is above it, or below if there is no room. */
  top: number
  bottom: number
  /** Announced by screen readers as the result of an action. */
  isAnswer: boolean
}

const answerMs = 3_000
const roomAbove = 60

let shown: Tip | undefined
let hiding: ReturnType<typeof setTimeout> | undefined
const listeners = new Set<() => void>()

function show(tip: Tip | undefined): void {
  clearTimeout(hiding)
  if (shown === tip) return
  shown = tip
  for (const listener of listeners) listener()
}

function tipAt(element: Element, text: string, isAnswer: boolean): Tip {
  const { left, width, top, bottom } = element.getBoundingClientRect()
  return { text, left: left + width / 2, top, bottom, isAnswer }
}

/** Shows the result of an action next to an element for a few seconds. */
export function answerAt(element: Element, text: string): void {
  show(tipAt(element, text, true))
  hiding = setTimeout(() => show(undefined), answerMs)
}

function near(event: Event): void {
  const element = event.target instanceof Element ? event.target.closest('[data-tip]') : null
  if (!element) {
    if (!shown?.isAnswer) show(undefined)
    return
  }
  if (event.type === 'focusin' && !element.matches(':focus-visible')) return
  show(tipAt(element, element.getAttribute('data-tip')!, false))
}

const hide = () => show(undefined)
const hideOnEscape = ({ key }: KeyboardEvent) => {
  if (key === 'Escape') hide()
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  document.addEventListener('pointerover', near)
  document.addEventListener('focusin', near)
  document.addEventListener('keydown', hideOnEscape)
  document.addEventListener('scroll', hide, true)
  return () => {
    listeners.delete(listener)
    document.removeEventListener('pointerover', near)
    document.removeEventListener('focusin', near)
    document.removeEventListener('keydown', hideOnEscape)
    document.removeEventListener('scroll', hide, true)
  }
}

/** Rendered once, outside the pages. */
export function Tips() {
  const tip = useSyncExternalStore(subscribe, () => shown)
  const isAbove = tip !== undefined && tip.top > roomAbove
  return (
    <>
      {tip && (
        <div
          role="tooltip"
          className={isAbove ? 'tip tip-above' : 'tip'}
          // Keeps the tip on the screen.
          style={{ left: `clamp(150px, ${tip.left}px, calc(100vw - 150px))`, top: isAbove ? tip.top : tip.bottom }}
        >
          {tip.text}
        </div>
      )}
      <div role="status" className="visually-hidden">
        {tip?.isAnswer ? tip.text : ''}
      </div>
    </>
  )
}
