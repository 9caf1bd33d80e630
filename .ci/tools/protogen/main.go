// Command protogen turns .proto files into Go and Connect code. It compiles
// the files itself and feeds the result to the plugins pinned in this module,
// so it needs no protoc and gives the same files on every run.
//
// Usage: protogen ROOT FILE..., files relative to ROOT; output lands beside them.
package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/linker"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

// plugin is one code generator of this module and its parameters.
type plugin struct{ tool, params string }

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: protogen ROOT FILE...")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "protogen:", err)
		os.Exit(1)
	}
}

func run(root string, names []string) error {
	ctx := context.Background()
	compiler := protocompile.Compiler{
		Resolver: protocompile.WithStandardImports(&protocompile.SourceResolver{ImportPaths: []string{root}}),
		// Comments of the .proto become comments of the Go code.
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	files, err := compiler.Compile(ctx, names...)
	if err != nil {
		return err
	}
	descs := describe(files)
	plugins := []plugin{
		{"protoc-gen-go", "paths=source_relative"},
		{"protoc-gen-connect-go", "paths=source_relative"},
	}
	for _, p := range plugins {
		if err := generate(ctx, root, p, names, descs); err != nil {
			return fmt.Errorf("%s: %w", p.tool, err)
		}
	}
	return nil
}

// describe lists the files and all they import, imports first, as plugins want it.
func describe(files linker.Files) []*descriptorpb.FileDescriptorProto {
	var out []*descriptorpb.FileDescriptorProto
	seen := map[string]bool{}
	var add func(f protoreflect.FileDescriptor)
	add = func(f protoreflect.FileDescriptor) {
		if seen[f.Path()] {
			return
		}
		seen[f.Path()] = true
		for i := range f.Imports().Len() {
			add(f.Imports().Get(i).FileDescriptor)
		}
		out = append(out, protodesc.ToFileDescriptorProto(f))
	}
	for _, f := range files {
		add(f)
	}
	return out
}

// generate runs one plugin over stdin and stdout and writes what it answers.
func generate(ctx context.Context, root string, p plugin, names []string, descs []*descriptorpb.FileDescriptorProto) error {
	req, err := proto.Marshal(&pluginpb.CodeGeneratorRequest{
		FileToGenerate: names,
		Parameter:      proto.String(p.params),
		ProtoFile:      descs,
	})
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", "tool", p.tool)
	cmd.Stdin = bytes.NewReader(req)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return err
	}
	var resp pluginpb.CodeGeneratorResponse
	if err := proto.Unmarshal(out, &resp); err != nil {
		return err
	}
	if resp.Error != nil {
		return fmt.Errorf("%s", resp.GetError())
	}
	for _, f := range resp.GetFile() {
		path := filepath.Join(root, filepath.FromSlash(f.GetName()))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(f.GetContent()), 0o644); err != nil {
			return err
		}
	}
	return nil
}
