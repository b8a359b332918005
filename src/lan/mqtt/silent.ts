/**
 * Silent hold-up and duress change nothing anyone on the LAN can see (safety 4): such events are not published nor
 * listed, and a silent hold-up zone has no topics and stands in no list.
 */
export { isSilent } from '#site/model/index.ts';
