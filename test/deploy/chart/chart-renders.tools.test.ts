import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, inject, it } from 'vitest';
import { parse } from 'yaml';
import { CHART } from '../../support/generated/chart-readme.ts';
import { readFile } from '../../support/generated/files.ts';
import { ROOT } from '../../support/source-tree.ts';
import {
  COMPONENT,
  environmentOf,
  find,
  type Manifest,
  podsOf,
  policyOf,
  render,
  VALUES,
  valuesFile,
} from './render.ts';

const helm = inject('helm');

describe.each(VALUES)('the chart with %s values', (values) => {
  it('passes helm lint --strict', async () => {
    const args = [
      'lint',
      '--strict',
      '--kube-version',
      '1.33.0',
      join(ROOT, CHART),
      '-f',
      valuesFile(values),
    ];
    const { stdout } = await promisify(execFile)(helm, args);
    expect(stdout).toContain('0 chart(s) failed');
  });

  it('makes pods of the restricted Pod Security level, without a token, with requests and a memory limit', async () => {
    for (const { owner, pod } of podsOf(await render(helm, values))) {
      const who = `${owner.kind} ${owner.metadata.name}`;
      expect(pod.automountServiceAccountToken, who).toBe(false);
      expect(pod.securityContext, who).toMatchObject({
        runAsNonRoot: true,
        seccompProfile: { type: 'RuntimeDefault' },
      });
      for (const container of pod.containers) {
        expect(container.securityContext, who).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        });
        expect(container.resources.requests, who).toHaveProperty('memory');
        expect(container.resources.limits?.memory, who).toBeTruthy();
      }
    }
  });

  it('has Helm show why a job or a pod that it waits for failed', async () => {
    for (const { owner } of podsOf(await render(helm, values))) {
      const { annotations = {}, name } = owner.metadata;
      if (annotations['helm.sh/hook'])
        expect(annotations['helm.sh/hook-output-log-policy'], name).toBe('hook-failed');
    }
  });

  it('has no Secret of its own, and mounts what it names', async () => {
    const manifests = await render(helm, values);
    expect(manifests.filter(({ kind }) => kind === 'Secret')).toEqual([]);
    for (const { owner, pod } of podsOf(manifests)) {
      const claims = owner.spec.volumeClaimTemplates?.map((one: typeof owner) => one.metadata.name) ?? [];
      const volumes = [...(pod.volumes ?? []).map(({ name }) => name), ...claims].sort();
      const mounted = pod.containers
        .flatMap(({ volumeMounts }) => volumeMounts ?? [])
        .map(({ name }) => name);
      expect(mounted.sort(), owner.metadata.name).toEqual(volumes);
      expect([...new Set(volumes)], owner.metadata.name).toEqual(volumes);
    }
  });

  it('gives each pod its settings itself, so that one of the release before keeps its own when it starts again', async () => {
    for (const { owner, pod } of podsOf(await render(helm, values)))
      for (const { env = [], envFrom } of pod.containers) {
        expect(envFrom, owner.metadata.name).toBeUndefined();
        for (const variable of env) expect(Object.keys(variable)).toEqual(['name', 'value']);
        expect(new Set(env.map(({ name }) => name)).size, owner.metadata.name).toBe(env.length);
      }
  });

  it('refers to Services and pods that are there', async () => {
    const manifests = await render(helm, values);
    const labels = podsOf(manifests).map(({ owner }) => owner.spec.template?.metadata.labels ?? {});
    for (const { kind, spec, metadata } of manifests) {
      const selector =
        kind === 'Service' ? spec.selector : kind === 'PodDisruptionBudget' && spec.selector.matchLabels;
      if (!selector) continue;
      const chosen = labels.filter((of) =>
        Object.entries(selector).every(([name, value]) => of[name] === value),
      );
      expect(chosen.length, `${kind} ${metadata.name}`).toBe(1);
    }
  });

  it('gives each pod more time to stop than its process takes', async () => {
    for (const { owner, pod } of podsOf(await render(helm, values)))
      if (owner.kind === 'Deployment' || owner.kind === 'StatefulSet')
        expect(pod.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(30);
  });
});

describe('the chart', () => {
  it('lets every pod be placed on nodes that take none without being asked', async () => {
    const toleration = { key: 'pool', operator: 'Equal', value: 'payments', effect: 'NoSchedule' };
    const where = {
      tolerations: [toleration],
      nodeSelector: { pool: 'payments' },
      priorityClassName: 'high',
    };
    const sets = ['jobs', 'ingress', 'control', 'console'].flatMap((of) =>
      Object.entries(where).flatMap(([name, value]) => [
        '--set-json',
        `${of}.${name}=${JSON.stringify(value)}`,
      ]),
    );
    for (const values of ['full', 'spool', 'gitops']) {
      const pods = podsOf(await render(helm, values, ...sets));
      expect(new Set(pods.map(({ owner }) => owner.kind))).toContain('Pod');
      for (const { owner, pod } of pods)
        expect(pod, `${owner.kind} ${owner.metadata.name}`).toMatchObject(where);
    }
  });

  // On a cluster whose nodes have no zone both pods ran on one node: a node without the label of one constraint has no score for any.
  it('spreads pods over nodes by a constraint and over zones by affinity, unless the values say how', async () => {
    const podOf = async (...flags: string[]) =>
      podsOf(await render(helm, 'minimal', ...flags)).find(
        ({ owner }) => owner.metadata.labels[COMPONENT] === 'ingress',
      )?.pod;
    const zones = [{ weight: 100, podAffinityTerm: { topologyKey: 'topology.kubernetes.io/zone' } }];
    const apart = { podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: zones } };
    const pod = await podOf('--set-json', 'ingress.affinity={"nodeAffinity":{"own":1}}');
    const keys = pod?.topologySpreadConstraints?.map(({ topologyKey }) => topologyKey);
    expect(keys).toEqual(['kubernetes.io/hostname']);
    expect(pod?.affinity).toMatchObject({ ...apart, nodeAffinity: { own: 1 } });
    const own = await podOf('--set-json', 'ingress.affinity={"podAntiAffinity":{"own":1}}');
    expect(own?.affinity).toEqual({ podAntiAffinity: { own: 1 } });
    const none = await podOf('--set-json', 'ingress.topologySpreadConstraints=[]');
    expect(none?.topologySpreadConstraints).toEqual([]);
    expect(none?.affinity).toBeUndefined();
  });

  it('gives every pod the labels and annotations that a cluster asks for', async () => {
    const labels = { 'sidecar.istio.io/inject': 'false', team: 'ledger' };
    const annotations = { 'linkerd.io/inject': 'disabled' };
    const sets = ['jobs', 'ingress', 'control', 'console'].flatMap((of) => [
      ...['--set-json', `${of}.podLabels=${JSON.stringify(labels)}`],
      ...['--set-json', `${of}.podAnnotations=${JSON.stringify(annotations)}`],
    ]);
    for (const values of ['full', 'spool', 'gitops']) {
      const pods = podsOf(await render(helm, values, ...sets));
      expect(new Set(pods.map(({ owner }) => owner.kind))).toContain('Pod');
      for (const { owner, metadata } of pods)
        expect(metadata, `${owner.kind} ${owner.metadata.name}`).toMatchObject({ labels, annotations });
    }
  });

  it('takes each file from a folder that is named in place of a Secret, and mounts none', async () => {
    for (const { owner, pod } of podsOf(await render(helm, 'files'))) {
      const who = `${owner.kind} ${owner.metadata.name}`;
      expect(JSON.stringify(pod), who).not.toMatch(/"secret(Name|KeyRef)?":/);
      const files = pod.containers
        .flatMap(({ env = [] }) => env)
        .filter(({ name }) => /_(FILE|DIR)$/.test(name));
      for (const { name, value } of files)
        if (!/^(SPOOL_DIR|CONSOLE_INDEX_DIR|TOKEN_FILE)$/.test(name))
          expect(value, `${who} ${name}`).toMatch(/^\/mnt\/secrets\//);
    }
    const { KAFKA_CA_FILE, TLS_KEY_FILE, SECRETS_DIR } = environmentOf(
      await render(helm, 'files'),
      'pay-hookline-ingress',
    );
    expect([KAFKA_CA_FILE, TLS_KEY_FILE, SECRETS_DIR]).toEqual([
      '/mnt/secrets/kafka-ca.crt',
      '/mnt/secrets/tls.key',
      '/mnt/secrets/subscriptions',
    ]);
    for (const process of ['control', 'console', 'verify', 'test-doctor'])
      expect(environmentOf(await render(helm, 'files'), `pay-hookline-${process}`)).toHaveProperty(
        'SECRETS_DIR',
        '/mnt/secrets/subscriptions',
      );
  });

  it("gives every pod the volumes of its process, those of jobs to jobs, and a job with a process's files both", async () => {
    const classes = podsOf(await render(helm, 'files')).map(({ owner, pod }) => [
      owner.metadata.name.replace('pay-hookline-', ''),
      // biome-ignore lint/suspicious/noExplicitAny: a kind of volume that no other test looks into.
      ...(pod.volumes ?? []).flatMap((volume: any) => volume.csi?.volumeAttributes.secretProviderClass ?? []),
    ]);
    expect(Object.fromEntries(classes)).toEqual({
      ingress: 'hookline-ingress',
      'drain-{ordinal}': 'hookline-ingress',
      control: 'hookline-control',
      'test-doctor': 'hookline-control',
      console: 'hookline-console',
      ...Object.fromEntries(
        ['spool-drain', 'test-webhooks', 'topics', 'schemas', 'verify'].map((job) => [job, 'hookline-jobs']),
      ),
    });
    const extra = (of: string, name: string) => [
      ...['--set-json', `${of}.extraVolumes=[{"name":"${name}","emptyDir":{}}]`],
      ...['--set-json', `${of}.extraVolumeMounts=[{"name":"${name}","mountPath":"/mnt/${name}"}]`],
    ];
    const both = await render(helm, 'spool', ...extra('ingress', 'own'), ...extra('jobs', 'all'));
    const drain = podsOf(both).find(({ owner }) => owner.metadata.name.endsWith('drain-{ordinal}'))!.pod;
    expect(drain.volumes?.map(({ name }) => name)).toEqual(expect.arrayContaining(['own', 'all']));
    expect(drain.containers[0]?.volumeMounts?.map(({ mountPath }) => mountPath)).toEqual(
      expect.arrayContaining(['/mnt/own', '/mnt/all']),
    );
  });

  it('takes a Secret and a key whose name YAML would read as a number', async () => {
    const set = async (secret: string) => {
      const sets = [`sealingKey.secret=${secret}`, 'sealingKey.key=1.10', 'proxy.httpsSecret=1e3'];
      return render(
        helm,
        'minimal',
        ...sets.flatMap((one) => ['--set-string', one]),
        '--set',
        'proxy.port=80',
      );
    };
    const pod = podsOf(await set('123')).find(
      ({ owner }) => owner.metadata.name === 'pay-hookline-ingress',
    )?.pod;
    const items = [{ key: '1.10', path: 'sealing-key' }];
    expect(pod?.volumes?.[0]?.secret).toMatchObject({ secretName: '123', items });
    expect(JSON.stringify(pod)).toContain('"secretKeyRef":{"name":"1e3"');
    const { SEALING_KEY_FILE } = environmentOf(await set('/mnt/secrets'), 'pay-hookline-ingress');
    expect(SEALING_KEY_FILE).toBe('/mnt/secrets/1.10');
  });

  it('knows the name of each of its own volumes, which no other one may have', async () => {
    const all = await Promise.all(VALUES.map((values) => render(helm, values)));
    const list = /"hookline\.ownVolumes" -}}\n([^{]+)/.exec(readFile(`${CHART}/templates/_files.tpl`));
    const known = [...parse(list?.[1] ?? ''), 'secrets'];
    const names = podsOf(all.flat()).flatMap(({ pod }) => pod.volumes?.map(({ name }) => name) ?? []);
    expect(names.filter((name) => !known.includes(name))).toEqual([]);
  });

  it('has the alerts as they are, each with a link to the runbook', async () => {
    const { spec } = find(await render(helm, 'minimal'), 'PrometheusRule');
    const own = parse(readFile(`${CHART}/files/alerts.yaml`));
    const base = 'https://example.org/runbook#';
    const linked = find(
      await render(helm, 'minimal', '--set', `metrics.prometheusRule.runbookUrl=${base}`),
      'PrometheusRule',
    ).spec;
    expect(JSON.stringify(linked).replaceAll(base, 'RUNBOOK.md#')).toEqual(JSON.stringify(own));
    expect(JSON.stringify(spec)).not.toContain('"RUNBOOK.md#');
  });

  it('lets the webhooks Service and the probes reach the ports of the container', async () => {
    const manifests = await render(helm, 'full');
    const { pod } = podsOf(manifests.filter(({ metadata }) => metadata.name === 'pay-hookline-ingress'))[0]!;
    const [{ ports, readinessProbe, livenessProbe } = {} as never] = pod.containers;
    expect(ports).toEqual([
      { name: 'webhooks', containerPort: 8080 },
      { name: 'metrics', containerPort: 9464 },
    ]);
    expect([readinessProbe, livenessProbe]).toMatchObject([
      { httpGet: { path: '/readyz', port: 'metrics' } },
      { httpGet: { path: '/livez', port: 'metrics' } },
    ]);
  });

  it('gives the Services for people the families that the values name, and those of the metrics one', async () => {
    const familiesOf = async (values: string, ...args: string[]) => {
      const services = (await render(helm, values, ...args)).filter(({ kind }) => kind === 'Service');
      return Object.fromEntries(
        services.map(({ metadata, spec }) => [
          metadata.name.replace('pay-hookline-', ''),
          [spec.ipFamilyPolicy, spec.ipFamilies],
        ]),
      );
    };
    const none = [undefined, undefined];
    expect(await familiesOf('full', '--set', 'console.service.ipFamilies={IPv6}')).toEqual({
      ingress: ['PreferDualStack', ['IPv6', 'IPv4']],
      console: [undefined, ['IPv6']],
      'ingress-metrics': none,
      'control-metrics': none,
    });
    expect((await familiesOf('minimal')).ingress).toEqual(none);
  });

  it('takes brokers by IPv6 addresses, has the console listen on all addresses, and opens the ports', async () => {
    const brokers = ['--set', 'kafka.brokers={[2001:db8::1]:9092,[2001:db8::2]:9192}'];
    const manifests = await render(helm, 'full', ...brokers);
    expect(environmentOf(manifests, 'pay-hookline-ingress').KAFKA_BROKERS).toBe(
      '[2001:db8::1]:9092,[2001:db8::2]:9192',
    );
    expect(environmentOf(manifests, 'pay-hookline-console').CONSOLE_HOST).toBe('::');
    const { egress } = policyOf(manifests, 'ingress').spec;
    expect(JSON.stringify(egress)).toMatch(/"port":9092\b.*"port":9192\b/);
  });

  it('with full values scales by itself, shuts out, and opens a way from outside', async () => {
    const manifests = await render(helm, 'full');
    expect(find(manifests, 'HorizontalPodAutoscaler').spec.scaleTargetRef.name).toBe('pay-hookline-ingress');
    expect(find(manifests, 'Deployment', 'pay-hookline-ingress').spec).not.toHaveProperty('replicas');
    for (const kind of ['Ingress', 'HTTPRoute', 'NetworkPolicy', 'ServiceMonitor']) find(manifests, kind);
  });

  it("tells the topics' job, and control for the tool in its pod, how large records may be", async () => {
    const manifests = await render(helm, 'full');
    const MAX_RECORD_BYTES = '95000000';
    expect(environmentOf(manifests, 'pay-hookline-control')).toMatchObject({ MAX_RECORD_BYTES });
    const { spec } = find(manifests, 'Job', 'pay-hookline-topics');
    expect(spec.template.spec.containers[0].env).toContainEqual({
      name: 'MAX_RECORD_BYTES',
      value: MAX_RECORD_BYTES,
    });
  });

  it('with a spool keeps a volume for each pod, which outlives the release', async () => {
    const manifests = await render(helm, 'spool');
    const { spec } = find(manifests, 'StatefulSet', 'pay-hookline-ingress');
    expect(spec.persistentVolumeClaimRetentionPolicy).toEqual({
      whenDeleted: 'Retain',
      whenScaled: 'Retain',
    });
    expect(environmentOf(manifests, 'pay-hookline-ingress')).toMatchObject({
      SPOOL_MAX_BYTES: '5301600256',
    });
    expect(
      manifests.some(({ metadata }) => metadata.labels['app.kubernetes.io/component'] === 'control'),
    ).toBe(false);
  });

  it('takes a key with nothing below it, as a values file has it whose lines are comments, for an empty one', async () => {
    const keys = ['ingress.settings', 'control.settings', 'console.settings'];
    const sets = [...keys, 'serviceAccount.annotations', 'serviceAccount.processAnnotations'];
    const all = [...sets.map((key) => `${key}=null`), 'networkPolicy.egress.enabled=true'];
    const manifests = await render(helm, 'tokens', ...all.flatMap((one) => ['--set', one]));
    expect(find(manifests, 'Deployment', 'pay-hookline-ingress').spec.template.spec).toMatchObject({
      terminationGracePeriodSeconds: 30,
    });
  });

  it.each([
    ['40000', 45],
    ['40001', 46],
    [' 0040000 ', 45],
  ])('gives a pod as long to stop as the process takes with %j', async (deadline, seconds) => {
    const set = `control.settings.STOP_DEADLINE_MS=${deadline}`;
    const { spec } = find(await render(helm, 'minimal', '--set', set), 'Deployment', 'pay-hookline-control');
    expect(spec.template.spec.terminationGracePeriodSeconds).toBe(seconds);
  });

  it('takes a value with nothing behind it for the empty one that is its default', async () => {
    const empty = ['ingress.tls.secret', 'ingress.tls.clientCaSecret', 'bodyStore.webIdentity.roleArn'];
    const sets = empty.flatMap((value) => ['--set', `${value}=null`]);
    const store = ['--set', 'bodyStore.address=s3://events'];
    expect(await render(helm, 'minimal', ...store, ...sets)).toEqual(await render(helm, 'minimal', ...store));
    const role = ['--set', 'bodyStore.webIdentity.roleArn=arn:aws:iam::1:role/h'];
    const withoutStore = await render(helm, 'minimal', ...role, '--set', 'bodyStore.address=null');
    expect(withoutStore).toEqual(await render(helm, 'minimal', ...role));
  });

  it('makes a new pod of a changed setting or dialect', async () => {
    const pod = async (...sets: string[]) =>
      find(await render(helm, 'minimal', ...sets), 'Deployment', 'pay-hookline-control').spec.template;
    expect(await pod()).toEqual(await pod());
    expect(await pod('--set', 'control.settings.LOG_LEVEL=debug')).not.toEqual(await pod());
    expect(await pod('--set', 'provider.dialect.list.items=/all')).not.toEqual(await pod());
  });

  it.each([
    ['gitops', { extra: { allow: ['description'] } }, ['control', 'subscriptions', 'test-doctor']],
    ['full', { list: { items: '/subscriptions' } }, ['console', 'control', 'test-doctor']],
  ])(
    'gives each pod with %s values that knows the dialect a copy, as of its settings',
    async (values, dialect, names) => {
      const knowing = podsOf(await render(helm, values)).filter(({ pod }) =>
        pod.containers.some(({ env = [] }) => env.some(({ name }) => name === 'PROVIDER_DIALECT_FILE')),
      );
      const found = knowing.map(({ owner }) => owner.metadata.name.replace('pay-hookline-', ''));
      expect(found.toSorted()).toEqual(names);
      for (const { owner, pod } of knowing) {
        const { annotations = {} }: Manifest['metadata'] = owner.spec.template?.metadata ?? owner.metadata;
        expect(JSON.parse(annotations['hookline/dialect'] ?? '')).toEqual(dialect);
        const fieldRef = { fieldPath: "metadata.annotations['hookline/dialect']" };
        expect(pod.volumes?.find(({ name }) => name === 'provider-dialect')).toEqual({
          name: 'provider-dialect',
          downwardAPI: { items: [{ path: 'dialect.json', fieldRef }] },
        });
      }
    },
  );

  it.each(['a$$b', '$(KAFKA_SSL)', '10485760'])('gives a pod the setting %s as it is', async (value) => {
    const set = `ingress.settings.LOG_LEVEL=${value}`;
    const manifests = await render(helm, 'minimal', '--set', set);
    const { LOG_LEVEL: given = '' } = environmentOf(manifests, 'pay-hookline-ingress');
    // As Kubernetes does it: $$ is a dollar sign, $(NAME) another variable.
    expect(given.replaceAll('$$', '\0')).not.toContain('$');
    expect(given.replaceAll('$$', '$')).toBe(value);
  });

  it('lets all but the jobs reach the object store, and gives them its credentials', async () => {
    const store = [
      'address=s3://events/hookline',
      'endpoint=https://minio.example:9000',
      'credentialsSecret=s3',
    ];
    const set = [...store, 'caSecret=s3-ca'].flatMap((one) => ['--set', `bodyStore.${one}`]);
    const manifests = await render(helm, 'minimal', ...set, '--set', 'networkPolicy.egress.enabled=true');
    const reaches = (component: string) =>
      JSON.stringify(policyOf(manifests, component).spec.egress).includes('9000');
    const files = (component: string) =>
      podsOf(manifests)
        .filter(
          ({ owner }) => (owner.spec.template?.metadata ?? owner.metadata).labels[COMPONENT] === component,
        )
        .flatMap(({ pod }) => pod.containers.flatMap(({ env = [] }) => env.map(({ name }) => name)))
        .filter((name) => name === 'AWS_SHARED_CREDENTIALS_FILE' || name === 'BODY_STORE_CA_FILE');
    const both = ['AWS_SHARED_CREDENTIALS_FILE', 'BODY_STORE_CA_FILE'];
    expect(['ingress', 'control', 'test', 'setup'].map((one) => [one, reaches(one), files(one)])).toEqual([
      ['ingress', true, both],
      ['control', true, both],
      ['test', true, both],
      ['setup', false, []],
    ]);
    for (const name of ['pay-hookline-ingress', 'pay-hookline-control'])
      expect(environmentOf(manifests, name)).toMatchObject({
        BODY_STORE: 's3://events/hookline',
        BODY_STORE_ENDPOINT: 'https://minio.example:9000',
        CLAIM_CHECK_BYTES: '900000',
        BODY_STORE_DEADLINE_MS: '15000',
      });
  });

  it.each<[string, string[], object]>([
    ['by its address', ['proxy.https=http://proxy:3128'], { value: 'http://proxy:3128' }],
    [
      'by a Secret',
      ['proxy.httpsSecret=proxy'],
      { valueFrom: { secretKeyRef: { name: 'proxy', key: 'https-proxy' } } },
    ],
  ])(
    'names a proxy %s in every pod that asks others, and hosts that it is not used for',
    async (_, sets, https) => {
      const flags = [...sets, 'proxy.noProxy={.svc,registry.example.org}'].flatMap((one) => ['--set', one]);
      const others = podsOf(await render(helm, 'spool', ...flags)).filter(
        // The one part that talks to Kubernetes, and to nobody else.
        ({ owner }) => owner.kind !== 'CronJob' || !owner.metadata.name.endsWith('-spool-drain'),
      );
      expect(others.length).toBeGreaterThan(3);
      for (const { owner, pod } of others) {
        const variables = pod.containers.flatMap(({ env = [] }) => env);
        if (!variables.some(({ name }) => name === 'SCHEMA_REGISTRY_URL')) continue;
        expect(variables, owner.metadata.name).toContainEqual({ name: 'HTTPS_PROXY', ...https });
        expect(variables).toContainEqual({ name: 'NO_PROXY', value: '.svc,registry.example.org' });
      }
    },
  );

  it('gives pods a token for the role of their web identity, and else none', async () => {
    const set = [
      '--set',
      'bodyStore.address=s3://events',
      '--set',
      'bodyStore.webIdentity.roleArn=arn:aws:iam::1:role/h',
    ];
    const tokens = (manifests: readonly Manifest[]) =>
      podsOf(manifests).filter(({ pod }) => JSON.stringify(pod.volumes ?? []).includes('serviceAccountToken'))
        .length;
    const manifests = await render(helm, 'minimal', ...set);
    expect(tokens(manifests)).toBe(3);
    expect(environmentOf(manifests, 'pay-hookline-ingress')).toMatchObject({
      AWS_ROLE_ARN: 'arn:aws:iam::1:role/h',
      AWS_WEB_IDENTITY_TOKEN_FILE: '/etc/hookline/web-identity/token',
    });
    expect(tokens(await render(helm, 'minimal'))).toBe(0);
  });
});
