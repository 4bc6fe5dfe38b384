// Command resource-health says what Flux and Argo CD make of objects. Its argument
// is a file with {"lua": "…", "objects": [{…}]}; it writes one line of JSON per object: the status and message of Flux's kstatus, and what the Lua answers in the interpreter that Argo CD runs it in.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	gopherjson "layeh.com/gopher-json"
)

type health struct {
	Status  string `json:"status"`
	Message string `json:"message"`
}

type verdict struct {
	Flux health `json:"flux"`
	Argo health `json:"argo"`
}

func main() {
	if err := judge(); err != nil {
		fmt.Fprintln(os.Stderr, "resource-health:", err)
		os.Exit(1)
	}
}

func judge() error {
	var input struct {
		Lua     string           `json:"lua"`
		Objects []map[string]any `json:"objects"`
	}
	if len(os.Args) != 2 {
		return fmt.Errorf("usage: resource-health FILE")
	}
	file, err := os.ReadFile(os.Args[1])
	if err != nil {
		return err
	}
	if err := json.Unmarshal(file, &input); err != nil {
		return err
	}
	for _, object := range input.Objects {
		flux, err := status.Compute(&unstructured.Unstructured{Object: whole(object).(map[string]any)})
		if err != nil {
			return err
		}
		argo, err := run(input.Lua, object)
		if err != nil {
			return err
		}
		line, err := json.Marshal(verdict{Flux: health{flux.Status.String(), flux.Message}, Argo: argo})
		if err != nil {
			return err
		}
		fmt.Println(string(line))
	}
	return nil
}

// run gives the Lua its object as Argo CD does, by the name of obj, with the libraries that Argo CD opens.
func run(script string, object map[string]any) (health, error) {
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	for name, open := range map[string]lua.LGFunction{lua.LoadLibName: lua.OpenPackage, lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable, lua.StringLibName: lua.OpenString} {
		if err := state.CallByParam(lua.P{Fn: state.NewFunction(open), NRet: 0, Protect: true}, lua.LString(name)); err != nil {
			return health{}, err
		}
	}
	state.SetGlobal("obj", gopherjson.DecodeValue(state, object))
	if err := state.DoString(script); err != nil {
		return health{}, err
	}
	answer, isTable := state.Get(-1).(*lua.LTable)
	if !isTable {
		return health{}, fmt.Errorf("the Lua answered no table")
	}
	return health{lua.LVAsString(answer.RawGetString("status")), lua.LVAsString(answer.RawGetString("message"))}, nil
}

// whole makes of JSON's numbers the integers that the Kubernetes libraries expect.
func whole(value any) any {
	switch value := value.(type) {
	case float64:
		return int64(value)
	case map[string]any:
		members := map[string]any{}
		for name, member := range value {
			members[name] = whole(member)
		}
		return members
	case []any:
		items := make([]any, len(value))
		for index, item := range value {
			items[index] = whole(item)
		}
		return items
	default:
		return value
	}
}
