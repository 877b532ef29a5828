/** The language of the page: the browser's, of those that the page has. Default English. */
export const language: 'en' | 'vi' = globalThis.navigator?.language?.startsWith('vi') ? 'vi' : 'en';
