import type { Settings } from '#config/index.ts';
import { nameUuid } from '#lib/uuid.ts';

/** Namespace of the ids siteward makes; the bridge's own namespace lies below it. */
const namespace = '3a0e2f5c-8f57-4c0e-9b0a-2d6b2f1f6a11';

/** Namespace of the ids this bridge makes. */
export const bridgeIdOf = ({ site, bridge }: Settings): string =>
  nameUuid(nameUuid(namespace, site.external_id), bridge.external_id);
