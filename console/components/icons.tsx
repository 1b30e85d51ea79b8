// Icons of the console.
import type { ReactNode } from 'react'

interface IconProps {
  size?: number
}

function icon(children: ReactNode) {
  return ({ size = 20 }: IconProps) => (
    <svg
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.8"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      focusable="false"
    >
      {children}
    </svg>
  )
}

export const OverviewIcon = icon(
  <>
    <rect x="3.5" y="3.5" width="7" height="9" rx="1.5" />
    <rect x="13.5" y="3.5" width="7" height="5" rx="1.5" />
    <rect x="13.5" y="11.5" width="7" height="9" rx="1.5" />
    <rect x="3.5" y="15.5" width="7" height="5" rx="1.5" />
  </>,
)
export const PipeIcon = icon(
  <>
    <path d="M3 8h8a4 4 0 0 1 4 4v0a4 4 0 0 0 4 4h2" />
    <path d="M3 5v6M21 13v6" />
  </>,
)
export const ServiceIcon = icon(
  <>
    <ellipse cx="12" cy="5.5" rx="8" ry="3" />
    <path d="M4 5.5v6.2c0 1.7 3.6 3 8 3s8-1.3 8-3V5.5" />
    <path d="M4 11.7v6.3c0 1.7 3.6 3 8 3s8-1.3 8-3v-6.3" />
  </>,
)
export const MembersIcon = icon(
  <>
    <circle cx="9" cy="8" r="3.5" />
    <path d="M2.5 20c0-3.6 2.9-6 6.5-6s6.5 2.4 6.5 6" />
    <path d="M16 4.8a3.5 3.5 0 0 1 0 6.4M18.5 14.6c1.9 1 3 2.9 3 5.4" />
  </>,
)
export const KeyIcon = icon(
  <>
    <circle cx="8" cy="15.5" r="4.5" />
    <path d="M11.3 12.2 20 3.5M16.5 7l3 3M13.5 10l2 2" />
  </>,
)
export const ActivityIcon = icon(
  <>
    <circle cx="12" cy="12" r="8.5" />
    <path d="M12 7v5l3.5 2" />
  </>,
)
export const SettingsIcon = icon(
  <>
    <path d="M4 7h9M17 7h3M4 17h3M11 17h9" />
    <circle cx="15" cy="7" r="2" />
    <circle cx="9" cy="17" r="2" />
  </>,
)
export const PersonIcon = icon(
  <>
    <circle cx="12" cy="8" r="4" />
    <path d="M4.5 20.5c0-4 3.4-6.5 7.5-6.5s7.5 2.5 7.5 6.5" />
  </>,
)
export const CopyIcon = icon(
  <>
    <rect x="8.5" y="8.5" width="12" height="12" rx="2" />
    <path d="M15.5 8.5v-3a2 2 0 0 0-2-2h-8a2 2 0 0 0-2 2v8a2 2 0 0 0 2 2h3" />
  </>,
)
export const CheckIcon = icon(<path d="m4.5 12.5 5 5 10-11" />)
export const ChevronIcon = icon(<path d="m8 10 4 4 4-4" />)
export const SunIcon = icon(
  <>
    <circle cx="12" cy="12" r="4" />
    <path d="M12 2.5v2M12 19.5v2M2.5 12h2M19.5 12h2M5.3 5.3l1.4 1.4M17.3 17.3l1.4 1.4M5.3 18.7l1.4-1.4M17.3 6.7l1.4-1.4" />
  </>,
)
export const MoonIcon = icon(<path d="M20 14.5A8.5 8.5 0 1 1 9.5 4a7 7 0 0 0 10.5 10.5Z" />)
export const PlusIcon = icon(<path d="M12 5v14M5 12h14" />)
export const TrashIcon = icon(<path d="M4.5 6.5h15M9.5 6.5v-2h5v2M6.5 6.5l1 13h9l1-13M10 10.5v5M14 10.5v5" />)
export const TerminalIcon = icon(
  <>
    <rect x="3" y="4.5" width="18" height="15" rx="2" />
    <path d="m7 10 3 2.5L7 15M12.5 15.5H17" />
  </>,
)
export const WarningIcon = icon(
  <>
    <path d="M12 4 2.8 19.5h18.4L12 4Z" />
    <path d="M12 10v4.5M12 17.2v.1" />
  </>,
)
export const SearchIcon = icon(
  <>
    <circle cx="11" cy="11" r="6.5" />
    <path d="m16 16 4.5 4.5" />
  </>,
)
export const DownloadIcon = icon(<path d="M12 4v11M7 10.5l5 5 5-5M4.5 20h15" />)
export const PlayIcon = icon(<path d="M7 4.5v15l12-7.5-12-7.5Z" />)
export const StopIcon = icon(<rect x="6" y="6" width="12" height="12" rx="1.5" />)
export const ResyncIcon = icon(
  <path d="M19.5 12a7.5 7.5 0 0 1-13.3 4.8M4.5 12a7.5 7.5 0 0 1 13.3-4.8M18 3.5v4h-4M6 20.5v-4h4" />,
)
export const EditIcon = icon(<path d="M4 20h4L19 9l-4-4L4 16v4ZM13.5 6.5l4 4" />)
export const MoreIcon = icon(<path d="M5 12h.01M12 12h.01M19 12h.01" strokeWidth="3" />)
export const ArrowIcon = icon(<path d="M4 12h15M13.5 6l6 6-6 6" />)
