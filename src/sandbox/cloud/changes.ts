/** The members a change names, over what was there; an absent member stays (S-013). */
export function changed<Row extends object>(row: Row, change: { readonly [K in keyof Row]?: Row[K] | undefined }): Row {
  const given = Object.entries(change).filter(([, value]) => value !== undefined);
  return { ...row, ...Object.fromEntries(given) };
}

/** The names a change holds, for the activity log. */
export const namesOf = (change: object): string => {
  const names = Object.entries(change).filter(([, value]) => value !== undefined);
  return names.map(([name]) => name).join(', ') || 'nothing';
};
