// One way to get Go programs, for tests and releases.
import { type GoTool, goTool, HELM } from '../../test/support/tools/go-tool.ts';

export const COSIGN: GoTool = {
  name: 'cosign',
  package: 'github.com/sigstore/cosign/v3/cmd/cosign',
  version: 'v3.1.3',
  isExact: true,
};
export const SYFT: GoTool = {
  name: 'syft',
  package: 'github.com/anchore/syft/cmd/syft',
  version: 'v1.57.0',
  isExact: true,
};
export const RELEASE_HELM: GoTool = { ...HELM, isExact: true };

/** Where the program is: Go builds it into the folder at the first call. */
export const releaseTool = (dir: string, tool: GoTool): Promise<string> =>
  goTool(tool, {
    env: process.env,
    dir,
    signal: new AbortController().signal,
    onProgress: (line) => void process.stderr.write(`release: ${line}\n`),
  });
