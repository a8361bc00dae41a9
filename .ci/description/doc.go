// Package description holds what .ci/described makes of the description of the interface, and what that needs.
package description

import _ "github.com/oapi-codegen/runtime"
