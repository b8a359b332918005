/** An address without what it may bring of secrets: user and password, and what stands behind the path. */
export function shownUrl(text: string): string {
  const [plain = ''] = text.replace(/\/\/[^/?#]*@/, '//').split(/[?#]/);
  return plain;
}
