/** Downloads that the page begins itself. */

/** The browser reads the contents after the click, on a busy machine much later. */
const READ_WITHIN_MS = 60_000;

/** Saves contents of the page under a name. */
export const saveBlob = (contents: Blob, name: string): void => {
  const url = URL.createObjectURL(contents);
  followUrl(url, name);
  setTimeout(() => URL.revokeObjectURL(url), READ_WITHIN_MS);
};

/** Saves what a URL answers. The server chooses the name where the URL is of another origin. */
export const followUrl = (url: string, name: string): void => {
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
};
