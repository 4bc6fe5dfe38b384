/** Without characters that control a terminal. Texts of servers, files and arguments may hold them. */
export function plain(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, " ");
}
