// Sets the color scheme before the first paint, to avoid a flash of the light theme.
{
  const chosen = localStorage.getItem('penstock-color-scheme')
  const isDark = chosen === 'dark' || (chosen !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches)
  document.documentElement.setAttribute('data-mantine-color-scheme', isDark ? 'dark' : 'light')
}
