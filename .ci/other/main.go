// Command other reads all packages and their tests as they are for other systems. It fails where the compiler would (a name that is not there, a type that does not fit,
// a constant that an int of 32 bits does not hold), and at what go vet finds. It makes no code, for which the compiler needs ten times as long.
package main

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/analysis/passes/asmdecl"
	"golang.org/x/tools/go/analysis/passes/assign"
	"golang.org/x/tools/go/analysis/passes/atomic"
	"golang.org/x/tools/go/analysis/passes/bools"
	"golang.org/x/tools/go/analysis/passes/buildtag"
	"golang.org/x/tools/go/analysis/passes/composite"
	"golang.org/x/tools/go/analysis/passes/copylock"
	"golang.org/x/tools/go/analysis/passes/directive"
	"golang.org/x/tools/go/analysis/passes/errorsas"
	"golang.org/x/tools/go/analysis/passes/httpresponse"
	"golang.org/x/tools/go/analysis/passes/ifaceassert"
	"golang.org/x/tools/go/analysis/passes/loopclosure"
	"golang.org/x/tools/go/analysis/passes/nilfunc"
	"golang.org/x/tools/go/analysis/passes/shift"
	"golang.org/x/tools/go/analysis/passes/sigchanyzer"
	"golang.org/x/tools/go/analysis/passes/slog"
	"golang.org/x/tools/go/analysis/passes/stdmethods"
	"golang.org/x/tools/go/analysis/passes/stringintconv"
	"golang.org/x/tools/go/analysis/passes/structtag"
	"golang.org/x/tools/go/analysis/passes/testinggoroutine"
	"golang.org/x/tools/go/analysis/passes/timeformat"
	"golang.org/x/tools/go/analysis/passes/unmarshal"
	"golang.org/x/tools/go/analysis/passes/unreachable"
	"golang.org/x/tools/go/analysis/passes/unsafeptr"
	"golang.org/x/tools/go/packages"
)

// vet is what go vet runs, but for what needs the code of all dependencies, too.
var vet = []*analysis.Analyzer{
	asmdecl.Analyzer, assign.Analyzer, atomic.Analyzer, bools.Analyzer, buildtag.Analyzer, composite.Analyzer, copylock.Analyzer, directive.Analyzer, errorsas.Analyzer,
	httpresponse.Analyzer, ifaceassert.Analyzer, loopclosure.Analyzer, nilfunc.Analyzer, shift.Analyzer, sigchanyzer.Analyzer, slog.Analyzer, stdmethods.Analyzer,
	stringintconv.Analyzer, structtag.Analyzer, testinggoroutine.Analyzer, timeformat.Analyzer, unmarshal.Analyzer, unreachable.Analyzer, unsafeptr.Analyzer,
}

func main() {
	whole := true
	for _, target := range os.Args[1:] {
		n, err := faults(target)
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", target, err)
			os.Exit(1)
		}
		whole = whole && n == 0
	}
	if !whole {
		os.Exit(1)
	}
}

// faults prints what is wrong for a system and processor, as in linux/386, and counts it.
func faults(target string) (n int, err error) {
	system, processor, _ := strings.Cut(target, "/")
	list, err := packages.Load(&packages.Config{
		Mode:  packages.LoadAllSyntax,
		Env:   append(os.Environ(), "GOOS="+system, "GOARCH="+processor, "CGO_ENABLED=0"),
		Tests: true,
	}, "./...")
	if err != nil {
		return 0, err
	}
	if n = packages.PrintErrors(list); n > 0 {
		return n, nil
	}
	graph, err := checker.Analyze(vet, list, nil)
	if err != nil {
		return 0, err
	}
	for _, action := range graph.Roots {
		if action.Err != nil {
			return 0, fmt.Errorf("%s of %s: %w", action.Analyzer, action.Package.PkgPath, action.Err)
		}
		for _, d := range action.Diagnostics {
			fmt.Fprintf(os.Stderr, "%s: %s\n", action.Package.Fset.Position(d.Pos), d.Message)
		}
		n += len(action.Diagnostics)
	}
	fmt.Printf("%s: %d packages, %d faults\n", target, len(list), n)
	return n, nil
}
