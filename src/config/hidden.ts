/** Zones of silent hold-up stand in no list, here neither (safety 4). */
export function isShown(member: unknown): boolean {
  if (typeof member !== 'object' || member === null) return true;
  // A zone of a panel, or a button that is wired to a camera.
  const { type, zone_type: wired } = member as { readonly type?: unknown; readonly zone_type?: unknown };
  return type !== 'panic_silent' && wired !== 'panic_silent';
}
