import { z } from 'zod';
import {
  type ActivityRow,
  activityRow,
  type ContactRow,
  contactRow,
  type DealerRow,
  type DeviceRow,
  dealerRow,
  deviceRow,
  type NvrRow,
  nvrRow,
  type PartitionRow,
  type PlaybackRow,
  partitionRow,
  playbackRow,
  type SiteRow,
  type StationRow,
  siteRow,
  stationRow,
  type VerificationRow,
  verificationRow,
} from './rows.ts';
import { Table, type TableRules } from './table.ts';

const snapshotOf = <S extends z.ZodType>(row: S) => z.object({ next: z.int().min(0), rows: z.array(row) });

export const worldSnapshot = z.object({
  dealers: snapshotOf(dealerRow),
  sites: snapshotOf(siteRow),
  stations: snapshotOf(stationRow),
  contacts: snapshotOf(contactRow),
  devices: snapshotOf(deviceRow),
  nvrs: snapshotOf(nvrRow),
  partitions: snapshotOf(partitionRow),
  verifications: snapshotOf(verificationRow),
  playbacks: snapshotOf(playbackRow),
  activity: snapshotOf(activityRow),
});
export type WorldSnapshot = z.output<typeof worldSnapshot>;

const refuse = 'refuse';
const drop = 'drop oldest';

/** Dealers and everything below them. All of it is bounded and fits into one snapshot. */
export class World {
  /** Called after each change. */
  onChange: () => void = () => undefined;

  readonly dealers = this.#table<DealerRow>({
    ...{ name: 'dealers', firstId: 1, maxRows: 1000, atCap: refuse },
    key: (row) => row.dealer_id,
    parent: () => 0,
  });
  readonly sites = this.#table<SiteRow>({
    ...{ name: 'sites', firstId: 101, maxRows: 10_000, atCap: refuse },
    key: (row) => row.site_id,
    parent: (row) => row.dealer_id,
  });
  readonly stations = this.#table<StationRow>({
    ...{ name: 'monitoring stations', firstId: 201, maxRows: 5000, atCap: refuse },
    key: (row) => row.monitoring_station_id,
    parent: (row) => row.dealer_id,
  });
  readonly contacts = this.#table<ContactRow>({
    ...{ name: 'contacts', firstId: 301, maxRows: 20_000, maxPerParent: 1000, atCap: refuse },
    key: (row) => row.contact_id,
    parent: (row) => row.site_id,
  });
  readonly devices = this.#table<DeviceRow>({
    ...{ name: 'devices', firstId: 401, maxRows: 20_000, maxPerParent: 2000, atCap: refuse },
    key: (row) => row.device_id,
    parent: (row) => row.site_id,
  });
  readonly nvrs = this.#table<NvrRow>({
    ...{ name: 'recorders', firstId: 501, maxRows: 10_000, maxPerParent: 100, atCap: refuse },
    key: (row) => row.nvr_id,
    parent: (row) => row.site_id,
  });
  readonly partitions = this.#table<PartitionRow>({
    ...{ name: 'partitions', firstId: 0, maxRows: 20_000, maxPerParent: 100, atCap: refuse },
    key: (row) => row.partition_id,
    parent: (row) => row.site_id,
  });
  readonly verifications = this.#table<VerificationRow>({
    ...{ name: 'verifications', firstId: 0, maxRows: 10_000, atCap: drop },
    key: (row) => row.verification_id.toLowerCase(),
    parent: (row) => row.site_id,
  });
  readonly playbacks = this.#table<PlaybackRow>({
    ...{ name: 'playbacks', firstId: 0, maxRows: 2000, maxPerParent: 200, atCap: drop },
    key: (row) => row.playback_id,
    parent: (row) => row.site_id,
  });
  readonly activity = this.#table<ActivityRow>({
    ...{ name: 'log entries', firstId: 1, maxRows: 50_000, maxPerParent: 5000, atCap: drop },
    key: (row) => row.activity_log_id,
    parent: (row) => row.site_id,
  });

  /** Everything of a site, the log included (S-070). */
  removeSite(siteId: number): void {
    for (const device of this.devices.of(siteId)) this.devices.delete(device.device_id);
    for (const contact of this.contacts.of(siteId)) this.contacts.delete(contact.contact_id);
    for (const nvr of this.nvrs.of(siteId)) this.nvrs.delete(nvr.nvr_id);
    for (const partition of this.partitions.of(siteId)) this.partitions.delete(partition.partition_id);
    for (const one of this.verifications.of(siteId)) this.verifications.delete(one.verification_id.toLowerCase());
    for (const playback of this.playbacks.of(siteId)) this.playbacks.delete(playback.playback_id);
    for (const entry of this.activity.of(siteId)) this.activity.delete(entry.activity_log_id);
    this.sites.delete(siteId);
  }

  /** Writes an entry of the site's activity log. */
  note(siteId: number, entry: { type: string; description: string; at: string }): void {
    const { type, description, at } = entry;
    const activity_log_id = this.activity.newId();
    // Long texts of a caller need not stand in the log in full.
    this.activity.put({
      activity_log_id,
      site_id: siteId,
      type,
      description: description.slice(0, 500),
      created_at: at,
    });
  }

  snapshot(): WorldSnapshot {
    const entries = tableNames.map((name) => [name, this[name].snapshot()]);
    return Object.fromEntries(entries) as WorldSnapshot;
  }

  /** Throws `queue_full` for a snapshot larger than the bounds. */
  restore(snapshot: WorldSnapshot): void {
    for (const name of tableNames) this[name].restore(snapshot[name] as never);
  }

  #table<Row extends object>(rules: TableRules<Row>): Table<Row> {
    return new Table(rules, () => this.onChange());
  }
}

const tableNames = Object.keys(worldSnapshot.shape) as (keyof WorldSnapshot)[];
