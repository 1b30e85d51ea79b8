import { createTheme, DEFAULT_THEME, type MantineColorsTuple } from '@mantine/core'

const teal: MantineColorsTuple = [
  '#e6f7fa',
  '#cdebf1',
  '#9ad7e3',
  '#63c1d4',
  '#38afc6',
  '#1ea0ba',
  '#0e8ba3',
  '#0b7285',
  '#075d6e',
  '#034654',
]

/** Darker last shades of a Mantine color, for sufficient contrast on pale backgrounds and with white text. */
function darker(color: 'red' | 'orange' | 'green', shades: [seventh: string, eighth: string, ninth: string]) {
  return [...DEFAULT_THEME.colors[color].slice(0, 7), ...shades] as unknown as MantineColorsTuple
}

export const theme = createTheme({
  primaryColor: 'teal',
  primaryShade: { light: 7, dark: 7 },
  colors: {
    teal,
    red: darker('red', ['#d42a2a', '#bd2222', '#a51c1c']),
    orange: darker('orange', ['#c2500a', '#ad4508', '#963a05']),
    green: darker('green', ['#26803a', '#217033', '#1b602b']),
  },
  defaultRadius: 'md',
  fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif',
  fontFamilyMonospace: 'ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace',
  headings: {
    fontWeight: '600',
    sizes: { h1: { fontSize: '1.6rem' }, h2: { fontSize: '1.2rem' }, h3: { fontSize: '1rem' } },
  },
  cursorType: 'pointer',
  autoContrast: true,
  respectReducedMotion: true,
  components: {
    Modal: { defaultProps: { closeButtonProps: { 'aria-label': 'Close' } }, styles: { title: { fontWeight: 600 } } },
  },
})
