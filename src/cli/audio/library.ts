/** For a change of the library: they wait for each other, and this is longer than the daemon takes. */
export const changeMs = 130_000;
