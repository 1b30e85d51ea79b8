// Copies text to the clipboard. Browsers offer `navigator.clipboard` only on https and localhost; elsewhere the text is selected
// in a field and copied with `execCommand`.

/** Returns whether the text was copied. Must be called from a click handler. */
export async function copyToClipboard(text: string): Promise<boolean> {
  if (navigator.clipboard !== undefined) {
    try {
      await navigator.clipboard.writeText(text)
      return true
    } catch {
      // Not permitted; the command below may be.
    }
  }
  return copySelection(text)
}

function copySelection(text: string): boolean {
  const focused = document.activeElement
  const field = document.createElement('textarea')
  field.value = text
  field.readOnly = true
  field.className = 'visually-hidden'
  // Inside an open dialog, which takes the focus back from elements outside.
  const parent = focused?.closest('[role="dialog"]') ?? document.body
  parent.append(field)
  try {
    field.select()
    return document.execCommand('copy')
  } catch {
    return false
  } finally {
    field.remove()
    if (focused instanceof HTMLElement) focused.focus({ preventScroll: true })
  }
}
