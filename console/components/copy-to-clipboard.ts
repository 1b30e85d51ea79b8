// Browsers offer `navigator.clipboard` only on https and on localhost: elsewhere the text is selected in a field, and the
// browser's own copy command copies the selection.

/** Whether the text is in the clipboard now. Call it from a click: browsers refuse others. */
export async function copyToClipboard(text: string): Promise<boolean> {
  if (navigator.clipboard !== undefined) {
    try {
      await navigator.clipboard.writeText(text)
      return true
    } catch {
      // Not permitted: the command below may be.
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
  // Inside an open dialog: it takes the focus back from what is outside.
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
