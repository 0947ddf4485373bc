/** Objects that an installation finds in its namespace, or that the tests put beside it. */

/** A namespace that takes no pod but of the restricted Pod Security level. */
export const restrictedNamespace = (name: string) => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name, labels: { 'pod-security.kubernetes.io/enforce': 'restricted' } },
});

export const secret = (namespace: string, name: string, stringData: Record<string, string>) => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { namespace, name },
  stringData,
});

const restricted = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  runAsNonRoot: true,
  capabilities: { drop: ['ALL'] },
  seccompProfile: { type: 'RuntimeDefault' },
};

/** The emulated provider, as a pod with a Service. */
export function sandboxObjects(namespace: string, image: string): object[] {
  const metadata = { namespace, name: 'sandbox', labels: { app: 'sandbox' } };
  const container = {
    name: 'sandbox',
    image,
    readinessProbe: { tcpSocket: { port: 8090 }, periodSeconds: 1 },
    securityContext: restricted,
  };
  return [
    // Without links: a Service of this name would set SANDBOX_PORT.
    { apiVersion: 'v1', kind: 'Pod', metadata, spec: { enableServiceLinks: false, containers: [container] } },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata,
      spec: { selector: metadata.labels, ports: [{ port: 8090 }] },
    },
  ];
}

/**
 * A volume on the node for the spool, for clusters that make none by themselves, and the pod that makes its folder
 * writable: what a driver of volumes does by fsGroup.
 */
export function volumeObjects(name: string, image: string): object[] {
  const hostPath = { path: `/var/tmp/${name}`, type: 'DirectoryOrCreate' };
  const script =
    "require('fs').rmSync('/volume/spool',{recursive:true,force:true});require('fs').chmodSync('/volume',0o777)";
  return [volume(name, 'DirectoryOrCreate'), onNode(name, image, hostPath, script)];
}

/** The same, of a volume that can be gone for a while: a pod that needs it waits for it. */
export const volumeThatCanBeGone = (name: string, image: string): object[] => [
  volume(name, 'Directory'),
  ...volumeObjects(name, image).slice(1),
];

/** A pod that takes the folder of a volume away from the node, or brings it back. */
export const moveVolume = (name: string, image: string, to: 'away' | 'back'): object => {
  const own = `/volume/${name}`;
  const elsewhere = `/volume/${name}-away`;
  const script = `require('fs').renameSync(...${JSON.stringify(to === 'away' ? [own, elsewhere] : [elsewhere, own])})`;
  return onNode(`${name}-${to}`, image, { path: '/var/tmp', type: 'Directory' }, script);
};

type HostPath = { readonly path: string; readonly type: string };

const volume = (name: string, type: string) => ({
  apiVersion: 'v1',
  kind: 'PersistentVolume',
  metadata: { name },
  spec: {
    capacity: { storage: '1Gi' },
    accessModes: ['ReadWriteOncePod'],
    storageClassName: name,
    persistentVolumeReclaimPolicy: 'Retain',
    hostPath: { path: `/var/tmp/${name}`, type },
  },
});

/** A pod that runs a script as root with a folder of the node. */
const onNode = (name: string, image: string, hostPath: HostPath, script: string) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { namespace: 'default', name },
  spec: {
    restartPolicy: 'Never',
    containers: [
      {
        name: 'prepare',
        image,
        args: ['-e', script],
        securityContext: { runAsUser: 0 },
        volumeMounts: [{ name: 'volume', mountPath: '/volume' }],
      },
    ],
    volumes: [{ name: 'volume', hostPath }],
  },
});
