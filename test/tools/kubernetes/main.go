// Command kubernetes holds the Kubernetes control plane, node agents, etcd and kubectl in one
// program: the name it is called by decides which of them runs.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	manager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

func run(command func() *cobra.Command) func() {
	return func() { os.Exit(cli.Run(command())) }
}

var programs = map[string]func(){
	"etcd":                    func() { etcdmain.Main(os.Args) },
	"kube-apiserver":          run(apiserver.NewAPIServerCommand),
	"kube-controller-manager": run(manager.NewControllerManagerCommand),
	"kube-scheduler":          run(func() *cobra.Command { return scheduler.NewSchedulerCommand() }),
	"kube-proxy":              run(proxy.NewProxyCommand),
	"kubelet":                 run(func() *cobra.Command { return kubelet.NewKubeletCommand(context.Background()) }),
	"kubectl":                 run(kubectl.NewDefaultKubectlCommand),
}

func main() {
	name := filepath.Base(os.Args[0])
	if program, ok := programs[name]; ok {
		program()
		return
	}
	names := make([]string, 0, len(programs))
	for known := range programs {
		names = append(names, known)
	}
	sort.Strings(names)
	fmt.Fprintf(os.Stderr, "%s: call this program by one of the names %s\n", name, strings.Join(names, ", "))
	os.Exit(2)
}
