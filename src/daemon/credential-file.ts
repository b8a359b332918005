import { join } from 'node:path';
import { secretSources } from '#lib/secret-ref.ts';

/** Where systemd puts a credential of this service; it need not be there. */
export function credentialFile(name: string): string | undefined {
  const { credentialsDirectory } = secretSources();
  return credentialsDirectory === undefined ? undefined : join(credentialsDirectory, name);
}
