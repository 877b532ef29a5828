/**
 * The icons of the page: one style, drawn on a grid of 24 with round strokes of 1.75. An icon is
 * decoration; the element that contains it has the name.
 */
const PATHS = {
  actors:
    'M12 3a2.5 2.5 0 1 0 0 5a2.5 2.5 0 1 0 0-5zM5.5 16a2.5 2.5 0 1 0 0 5a2.5 2.5 0 1 0 0-5zM18.5 16a2.5 2.5 0 1 0 0 5a2.5 2.5 0 1 0 0-5zM12 8v4M5.5 16v-4h13v4',
  agents: 'M5 9h14v10H5zM12 9V5M9 13.5v1.5M15 13.5v1.5M10.5 4h3M2 13v3M22 13v3',
  approvals: 'M12 3l8 3v6c0 5-3.5 8-8 9-4.5-1-8-4-8-9V6zM8.5 12l2.5 2.5 4.5-5',
  arrow: 'M12 5v14M6 13l6 6 6-6',
  audit: 'M6 3h9l4 4v14H6zM14 3v5h5M9 12h7M9 16h7',
  back: 'M19 12H5M11 6l-6 6 6 6',
  channels: 'M3 4h12v9H8l-3 3v-3H3zM18 8h3v9h-2v3l-3-3H9v-1',
  chat: 'M4 5h16v11H9l-5 4z',
  check: 'M5 12.5l4.5 4.5L19 7',
  close: 'M6 6l12 12M18 6L6 18',
  cluster: 'M4 4h16v6H4zM4 14h16v6H4zM8 7h.01M8 17h.01M12 7h4M12 17h4',
  copy: 'M9 9h11v11H9zM15 9V4H4v11h5',
  dark: 'M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5z',
  calls: 'M4 12h12M11 7l5 5-5 5M20 5v14',
  'dead-letters': 'M3 6h18v13H3zM3 7l9 7 9-7M9.5 16.5l5-5',
  devices: 'M3 5h13v10H3zM7 19h5M18 9h3v10h-5v-4',
  download: 'M12 4v11M7 11l5 5 5-5M5 20h14',
  edit: 'M4 20h4L19 9l-4-4L4 16zM13 7l4 4',
  file: 'M6 3h8l4 4v14H6zM14 3v4h4',
  fork: 'M6 3v18M6 15c0-5 12-3 12-8M18 3a2 2 0 1 0 0 4a2 2 0 1 0 0-4z',
  globe: 'M12 3a9 9 0 1 0 0 18a9 9 0 1 0 0-18zM3 12h18M12 3c5 5 5 13 0 18M12 3c-5 5-5 13 0 18',
  help: 'M4 7h16v11H4zM8 11h.01M12 11h.01M16 11h.01M8 14.5h8',
  image: 'M4 5h16v14H4zM4 16l5-5 4 4 2-2 5 5M15 9h.01',
  light:
    'M12 8a4 4 0 1 0 0 8a4 4 0 1 0 0-8zM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.5 1.5M17.5 17.5L19 19M19 5l-1.5 1.5M5 19l1.5-1.5',
  memory: 'M5 4h12a2 2 0 0 1 2 2v14H7a2 2 0 0 1-2-2zM5 18a2 2 0 0 1 2-2h12M9 8h6',
  menu: 'M4 7h16M4 12h16M4 17h16',
  plus: 'M12 5v14M5 12h14',
  retry: 'M20 11a8 8 0 1 0-2 6M20 5v6h-6',
  runs: 'M3 6h9M8 12h9M13 18h8',
  schedules: 'M12 4a8.5 8.5 0 1 0 0 17a8.5 8.5 0 1 0 0-17zM12 8v5l3 2',
  search: 'M11 4a7 7 0 1 0 0 14a7 7 0 1 0 0-14zM16 16l5 5',
  send: 'M12 20V5M6 11l6-6 6 6',
  settings:
    'M4 7h8M18 7h2M15 4.5a2.5 2.5 0 1 0 0 5a2.5 2.5 0 1 0 0-5zM4 17h2M12 17h8M9 14.5a2.5 2.5 0 1 0 0 5a2.5 2.5 0 1 0 0-5z',
  stop: 'M7 7h10v10H7z',
  system: 'M12 3a9 9 0 1 0 0 18a9 9 0 1 0 0-18zM12 3v18M12 8h8M12 12h9M12 16h8',
  tasks: 'M4 6l1.5 1.5L8 5M4 12l1.5 1.5L8 11M4 18l1.5 1.5L8 17M12 6h8M12 12h8M12 18h8',
  terminal: 'M3 5h18v14H3zM7 9l3 3-3 3M12 15h5',
  tool: 'M14 6a4 4 0 0 1 5.5-1L16.5 8 18 9.5l3-3a4 4 0 0 1-5.5 5L8 19a2 2 0 0 1-3-3l7.5-7.5A4 4 0 0 1 14 6z',
  trash: 'M5 7h14M9 7V4h6v3M7 7l1 13h8l1-13',
  usage: 'M4 20V10M10 20V4M16 20v-7M21 20H3',
  warning: 'M12 4l9 16H3zM12 10v4M12 17h.01',
} as const;

export type IconName = keyof typeof PATHS;

export const Icon = ({ name }: { name: IconName }) => (
  <svg class="glyph" viewBox="0 0 24 24" aria-hidden="true">
    <path d={PATHS[name]} />
  </svg>
);
